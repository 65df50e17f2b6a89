// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

func parseSpec(t *testing.T, text string) *Spec {
	t.Helper()
	spec := &v1alpha2.LlamaStackDistributionSpec{}
	if err := yaml.UnmarshalStrict([]byte(text), spec); err != nil {
		t.Fatal(err)
	}
	return Parse(spec)
}

// Proves: R3, R74 (each message has the field and the fix).
func TestEndpointFromReportsErrors(t *testing.T) {
	for entry, want := range map[string]string{
		"endpointFrom: {kind: InferenceService, name: m}":                       "",
		"endpointFrom: {kind: LLMInferenceService, name: m, namespace: models}": "",
		"endpointFrom: {kind: Service, name: m, port: 8000, path: /v1}":         "",
		"endpointFrom: {kind: Service, name: m, port: http}":                    "",
		"endpointFrom: {kind: Service, name: m}\nendpoint: http://m":            "endpointFrom: Forbidden: endpoint is also set: keep one of them",
		"endpointFrom: m":                                             "endpointFrom: Invalid value: must be an object with kind and name: for example endpointFrom: {kind: InferenceService, name: my-model}",
		"endpointFrom: {name: m}":                                     "endpointFrom.kind: Required value: for example kind: InferenceService",
		"endpointFrom: {kind: Service}":                               "endpointFrom.name: Required value: for example name: my-model",
		"endpointFrom: {kind: Inferenceservice, name: m}":             `endpointFrom.kind: Unsupported value: "Inferenceservice": did you mean "InferenceService"?`,
		"endpointFrom: {kind: Pod, name: m}":                          "endpointFrom.kind: Unsupported value: supported values: InferenceService, LLMInferenceService, Service",
		"endpointFrom: {kind: Service, name: A_B}":                    "endpointFrom.name: Invalid value: is not a valid object name: use lower-case letters, digits, '-' and '.'",
		"endpointFrom: {kind: Service, name: m, port: 0}":             "endpointFrom.port: Invalid value: is neither the name nor the number of a port: for example port: 8000",
		"endpointFrom: {kind: Service, name: m, path: '/${env.X}'}":   "endpointFrom.path: Invalid value: is not the path of a URL: for example path: /v1",
		"endpointFrom: {kind: InferenceService, name: m, port: 8000}": "endpointFrom.port: Forbidden: is only allowed for a Service: the status of other kinds has the complete address: remove it",
		"endpointFrom: {kind: Service, name: m, ports: 1}":            `endpointFrom.ports: Invalid value: unknown field: did you mean "port"?`,
	} {
		s := parseSpec(t, "distribution: {name: starter}\nproviders:\n  inference:\n    provider: vllm\n    "+strings.ReplaceAll(entry, "\n", "\n    "))
		var got []string
		for _, p := range s.Problems {
			got = append(got, strings.TrimPrefix(p.String(), "spec.providers.inference."))
		}
		if diff := cmp.Diff(want, strings.Join(got, "; ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", entry, diff)
		}
		if known := len(s.EndpointReferences()) == 1; known != (want == "") {
			t.Errorf("%s: reference known: %v", entry, known)
		}
	}
	for _, text := range []string{
		"providers: {vectorIo: {provider: pgvector, endpointFrom: {kind: InferenceService, name: m}}}",
		"resources: {tools: [{name: 'mcp::a', endpointFrom: {kind: LLMInferenceService, name: m}}]}",
	} {
		if s := parseSpec(t, text); len(s.Problems) != 1 || s.Problems[0].Fix != "supported values: Service" {
			t.Errorf("%s: %v", text, s.Problems)
		}
	}
}

// Proves: R63 (each object counts once).
func TestEndpointReferencesAreBounded(t *testing.T) {
	tools := func(count int) string {
		var text strings.Builder
		for i := range count {
			fmt.Fprintf(&text, "  - {name: 'mcp::a%d', endpointFrom: {kind: Service, name: s%d}}\n  - {name: 'mcp::b%d', endpointFrom: {kind: Service, name: s%d}}\n", i, i, i, i)
		}
		return "resources:\n  tools:\n" + text.String()
	}
	if s := parseSpec(t, tools(limits.EndpointReferences)); len(s.Problems) > 0 {
		t.Error(s.Problems)
	}
	s := parseSpec(t, tools(limits.EndpointReferences+1))
	if len(s.Problems) != 1 || !strings.Contains(s.Problems[0].String(), "spec.resources.tools[100].endpointFrom: Too many: ") {
		t.Error(s.Problems)
	}
}

// Proves: NFR-001 (addresses are set in a copy, because the parsed spec is shared).
func TestWithEndpointsDoesNotChangeTheSpec(t *testing.T) {
	const text = `
providers: {inference: [{id: a, provider: vllm, endpointFrom: {kind: Service, name: a}}, {id: b, provider: vllm, endpoint: "http://b"}]}
resources: {tools: [{name: "mcp::c", endpointFrom: {kind: Service, name: c}}]}`
	s, before := parseSpec(t, text), parseSpec(t, text)
	completed := s.WithEndpoints(func(ref *EndpointReference) string { return "http://" + ref.Name + ".found" + ref.URLPath })
	got := []string{completed.Providers[0].Providers[0].Endpoint, completed.Providers[0].Providers[1].Endpoint, completed.Tools[0].Endpoint}
	if want := []string{"http://a.found", "http://b", "http://c.found/mcp"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if diff := cmp.Diff(before, s, cmp.AllowUnexported(apiextensionsv1.JSON{})); diff != "" {
		t.Errorf("the spec was changed:\n%s", diff)
	}
}
