// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/tests/expect"
)

func parsedExternal(t *testing.T, text string) *Spec {
	t.Helper()
	return Parse(&v1alpha2.LlamaStackDistributionSpec{ExternalProviders: open(text)})
}

// The order is that of the APIs, and each entry has its path.
//
// Proves: FR-014, R46.
func TestParseExternal(t *testing.T) {
	spec := parsedExternal(t, `{"toolRuntime": {"providerId": "b", "image": "i2", "package": {"packageName": "p.q", "providerType": "inline::t"}},
		"eval": null, "scoring": [],
		"inference": [{"providerId": "a", "image": "i1", "imagePullPolicy": "Always", "endpoint": "http://e", "apiKey": {"name": "s", "key": "k"},
			"secretRefs": {"x": {"name": "s", "key": "l"}}, "config": {"n": 1}}]}`)
	want := []ExternalProvider{
		{
			Provider: Provider{
				ID: "a", Endpoint: "http://e", APIKey: &SecretReference{Name: "s", Key: "k"}, Settings: map[string]any{"n": int64(1)}, SettingsField: "config",
				SecretRefs: []SecretField{{Field: "x", Ref: SecretReference{Name: "s", Key: "l"}, Path: "spec.externalProviders.inference[0].secretRefs[x]"}},
				Path:       "spec.externalProviders.inference[0]",
			},
			API: APIInference, Image: "i1", ImagePullPolicy: corev1.PullAlways,
		},
		{
			Provider: Provider{ID: "b", SettingsField: "config", Path: "spec.externalProviders.toolRuntime"},
			API:      APIToolRuntime, Image: "i2", Package: &ProviderPackage{PackageName: "p.q", ProviderType: "inline::t", API: "tool_runtime"},
		},
	}
	if diff := cmp.Diff(want, spec.External); diff != "" || len(spec.Problems) > 0 {
		t.Errorf("%v\n%s", spec.Problems, diff)
	}
}

// Proves: FR-014, FR-072, R46, R63.
func TestParseExternalReportsErrors(t *testing.T) {
	entries := make([]string, limits.ExternalProviders+1)
	for i := range entries {
		entries[i] = fmt.Sprintf(`{"providerId":"p%d","image":"i"}`, i)
	}
	for name, c := range map[string]struct{ given, want string }{
		"not an object":   {`[]`, "spec.externalProviders: Invalid value"},
		"no such API":     {`{"vector_io": []}`, "spec.externalProviders.vector_io: Invalid value"},
		"not an entry":    {`{"inference": [1]}`, "spec.externalProviders.inference[0]: Invalid value"},
		"neither":         {`{"inference": 1}`, "spec.externalProviders.inference: Invalid value"},
		"nothing":         {`{"inference": {}}`, "spec.externalProviders.inference.providerId: Required value"},
		"no image":        {`{"inference": {"providerId": "a"}}`, "spec.externalProviders.inference.image: Required value"},
		"blanks":          {`{"inference": {"providerId": "a", "image": "a b"}}`, "spec.externalProviders.inference.image: Invalid value"},
		"long image":      {`{"inference": {"providerId": "a", "image": "` + strings.Repeat("a", limits.ImageBytes+1) + `"}}`, "spec.externalProviders.inference.image: Invalid value"},
		"upper case":      {`{"inference": {"providerId": "A", "image": "i"}}`, "spec.externalProviders.inference.providerId: Invalid value"},
		"long id":         {`{"inference": {"providerId": "` + strings.Repeat("a", MaxExternalIDLength+1) + `", "image": "i"}}`, "spec.externalProviders.inference.providerId: Invalid value"},
		"reserved":        {`{"inference": {"providerId": "all", "image": "i"}}`, "spec.externalProviders.inference.providerId: Invalid value"},
		"pull policy":     {`{"inference": {"providerId": "a", "image": "i", "imagePullPolicy": "Sometimes"}}`, "spec.externalProviders.inference.imagePullPolicy: Invalid value"},
		"unknown field":   {`{"inference": {"providerId": "a", "image": "i", "provider": "x"}}`, "spec.externalProviders.inference.provider: Invalid value"},
		"a literal key":   {`{"inference": {"providerId": "a", "image": "i", "apiKey": "hunter2"}}`, "spec.externalProviders.inference.apiKey: Invalid value"},
		"no package":      {`{"inference": {"providerId": "a", "image": "i", "package": "x"}}`, "spec.externalProviders.inference.package: Invalid value"},
		"half a package":  {`{"inference": {"providerId": "a", "image": "i", "package": {"packageName": "x"}}}`, "spec.externalProviders.inference.package.providerType: Required value"},
		"odd package":     {`{"inference": {"providerId": "a", "image": "i", "package": {"packageName": "x", "providerType": "inline::x", "wheelPath": "y"}}}`, "spec.externalProviders.inference.package.wheelPath: Invalid value"},
		"one id":          {`{"inference": [{"providerId": "a", "image": "i"}], "eval": {"providerId": "a", "image": "i"}}`, "spec.externalProviders.eval.providerId: Duplicate value"},
		"more than bound": {`{"inference": [` + strings.Join(entries, ",") + `]}`, "spec.externalProviders: Too many"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := parsedExternal(t, c.given)
			if len(spec.Problems) == 0 || !strings.HasPrefix(spec.Problems[0].String(), c.want+": ") {
				t.Errorf("%v\nwant %s", spec.Problems, c.want)
			}
			expect.Message(t, "", spec.Problems[0].String())
			if strings.Contains(fmt.Sprint(spec.Problems), "hunter2") {
				t.Error("a value got into a message")
			}
		})
	}
}

// An external provider replaces a provider of the same API and id. The same id in another API is a duplicate.
//
// Proves: FR-072, FR-092.
func TestParseExternalSharesIDsWithinOneAPI(t *testing.T) {
	for api, want := range map[string]int{"inference": 0, "safety": 1} {
		spec := Parse(&v1alpha2.LlamaStackDistributionSpec{
			Providers:         &v1alpha2.ProvidersSpec{Inference: open(`{"id": "a", "provider": "vllm"}`)},
			ExternalProviders: open(`{"` + api + `": {"providerId": "a", "image": "i"}}`),
		})
		if len(spec.Problems) != want {
			t.Errorf("%s: %v", api, spec.Problems)
		}
	}
}
