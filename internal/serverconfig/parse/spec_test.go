// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// Proves: R74, R63 (an error in one field does not hide errors in others; a spec over the limits is not parsed).
func TestParseReadsAllOpenFields(t *testing.T) {
	spec := &v1alpha2.LlamaStackDistributionSpec{
		Providers: &v1alpha2.ProvidersSpec{Inference: open(`{"provider": "vllm"}`), Safety: open(`{"provider": "llama-guard", "id": 5}`)},
		Resources: &v1alpha2.ResourcesSpec{
			Models: []apiextensionsv1.JSON{*open(`"m"`), *open(`5`)}, Shields: []apiextensionsv1.JSON{*open(`"s"`), *open(`5`)},
			Tools: []apiextensionsv1.JSON{*open(`"websearch"`), *open(`5`)}, VectorStores: []v1alpha2.VectorStore{{Name: "v", EmbeddingModel: "m"}, {Name: "w"}},
		},
		Auth:       &v1alpha2.AuthSpec{Provider: new("oauth2"), Settings: open(`5`)},
		Networking: &v1alpha2.NetworkingSpec{Expose: open(`{"hostname": "a.example"}`)},
	}
	s := Parse(spec)
	if s.Source != spec || s.TooLarge || s.Auth == nil || s.Auth.Type != "oauth2" || !reflect.DeepEqual(s.Expose, Expose{Enabled: true, Hostname: "a.example"}) {
		t.Errorf("%+v", s)
	}
	if p := Find(s.Providers, APIInference.Name, "vllm"); p == nil || p.Type != "vllm" {
		t.Errorf("the provider vllm: %+v", p)
	}
	if p, q := Find(s.Providers, APISafety.Name, "vllm"), Find(s.Providers, APIInference.Name, "gone"); p != nil || q != nil {
		t.Errorf("providers that are not there: %+v, %+v", p, q)
	}
	got := []string{s.Models[0].Name, s.Shields[0].ID, s.Tools[0].Name, s.VectorStores[0].Name}
	if diff := cmp.Diff([]string{"m", "s", "websearch", "v"}, got); diff != "" {
		t.Error(diff)
	}
	var paths []string
	for _, p := range append(s.Problems, s.ExposeProblems...) {
		paths = append(paths, p.Path)
	}
	want := []string{
		"spec.providers.safety.id", "spec.resources.models[1]", "spec.resources.shields[1]", "spec.resources.tools[1]", "spec.resources.vectorStores[1].embeddingModel",
		"spec.auth.settings",
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Error(diff)
	}
}

func TestParseExposesNothingIfTheFieldIsInvalid(t *testing.T) {
	s := Parse(&v1alpha2.LlamaStackDistributionSpec{Networking: &v1alpha2.NetworkingSpec{Expose: open(`{"hostname": 5}`)}})
	if !reflect.DeepEqual(s.Expose, Expose{}) || len(s.ExposeProblems) != 1 || len(s.Problems) > 0 {
		t.Errorf("%+v", s)
	}
}

// Proves: R63.
func TestParseStopsAtTheBounds(t *testing.T) {
	s := Parse(&v1alpha2.LlamaStackDistributionSpec{Providers: &v1alpha2.ProvidersSpec{Inference: open(nested(1000)), Safety: open(`{"provider": "x"}`)}})
	if !s.TooLarge || len(s.Problems) != 1 || len(s.Providers) > 0 {
		t.Errorf("%+v", s)
	}
}

// Proves: R34.
func TestParseAcceptsLongestID(t *testing.T) {
	for length, count := range map[int]int{MaxProviderIDLength: 0, MaxProviderIDLength + 1: 1} {
		id := strings.Repeat("a", length)
		if _, problems := parseProviders(&v1alpha2.ProvidersSpec{Safety: open(`{"provider": "x", "id": "` + id + `"}`)}); len(problems) != count {
			t.Errorf("an id of %d characters: %v", length, problems)
		}
	}
}
