// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/config/crd"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// Proves: FR-014, R99 (a new API is a row of the catalog).
func TestEveryAPIOfTheCatalogIsAField(t *testing.T) {
	var names []string
	for _, api := range APIs() {
		names = append(names, api.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff(catalog.KnownAPIs(), names); diff != "" {
		t.Error(diff)
	}
	// kubectl explain names the APIs without a field in the schema.
	description := strings.Join(strings.Fields(string(crd.LlamaStackDistributions())), " ")
	_, description, _ = strings.Cut(description, "Each other API that the server's release line has is also a field: ")
	description, _, _ = strings.Cut(description, ".")
	var others []string
	for _, api := range APIs()[slices.Index(APIs(), APITelemetry)+1:] {
		others = append(others, api.Field)
	}
	if diff := cmp.Diff(strings.Join(others, ", "), description); diff != "" {
		t.Error("the description of spec.providers in the CRD:", diff)
	}
}

// Proves: R22, R99 (no API is lost when a client writes what it read).
func TestProvidersOfEveryAPISurviveDecoding(t *testing.T) {
	text := `{"files":{"provider":"s3"},"inference":[{"id":"a","provider":"vllm"}],"nothing":7}`
	spec := &v1alpha2.ProvidersSpec{}
	if err := json.Unmarshal([]byte(strings.Replace(text, "{", `{"batches":null,"safety":null,`, 1)), spec); err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(spec.DeepCopy())
	if err != nil || string(written) != text {
		t.Errorf("%s, want %s (%v)", written, text, err)
	}
	groups, problems := parseProviders(spec)
	expectProblems(t, problems, "spec.providers.nothing: Invalid value")
	var apis []ProviderAPI
	for _, group := range groups {
		apis = append(apis, group.API)
	}
	if diff := cmp.Diff([]ProviderAPI{APIInference, {Field: "files", Name: "files"}}, apis); diff != "" {
		t.Error(diff)
	}
	if err := json.Unmarshal([]byte(`"text"`), spec); err == nil {
		t.Error("a text is no object of providers, and was read")
	}
}
