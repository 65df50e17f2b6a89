// SPDX-License-Identifier: Apache-2.0

package serverconfig_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R11, R20, R63 (only addresses that the configuration uses are resolved, and none for a spec over the limit).
func TestEndpointUses(t *testing.T) {
	const providers = `
providers:
  inference: [{id: a, provider: vllm, endpointFrom: {kind: Service, name: a}}, {id: b, provider: vllm, endpointFrom: {kind: Service, name: b}}]
  vectorIo: {provider: pgvector, endpointFrom: {kind: Service, name: db}}
resources: {tools: [{name: "mcp::t", endpointFrom: {kind: Service, name: t}}]}
`
	const replaced = providers + `externalProviders: {inference: [{providerId: a, image: registry.example/a:1}]}
`
	var many strings.Builder
	for i := range limits.EndpointReferences + 1 {
		fmt.Fprintf(&many, "  - {name: 'mcp::t%d', endpointFrom: {kind: Service, name: t%d}}\n", i, i)
	}
	for text, want := range map[string][]string{
		providers: {"a", "b", "db", "t"},
		providers + "disabled: [vectorIo, tool_runtime]": {"a", "b"},
		replaced:                                 {"b", "db", "t"},
		replaced + "disabled: [inference]":       {"db", "t"},
		"resources:\n  tools:\n" + many.String(): nil,
	} {
		spec := &v1alpha2.LlamaStackDistributionSpec{}
		framework.NoError(t, yaml.UnmarshalStrict([]byte(text), spec))
		var got []string
		for _, ref := range serverconfig.EndpointUses(parse.Parse(spec)) {
			got = append(got, ref.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v of\n%s", got, want, text)
		}
	}
}
