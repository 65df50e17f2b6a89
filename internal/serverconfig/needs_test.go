// SPDX-License-Identifier: Apache-2.0

package serverconfig_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R90 (for each field, the first and the last release line that has it, unless all have it).
func TestNeeds(t *testing.T) {
	for name, c := range map[string]struct {
		spec string
		want map[string][2]string
	}{
		"nothing": {`{}`, nil},
		"what every release line has": {
			`{"providers": {"inference": {"provider": "vllm"}, "vectorIo": {"provider": "pgvector"}, "telemetry": {"provider": "otel"}},
			  "resources": {"models": ["m"], "tools": ["websearch", "mcp::x"]}, "storage": {"kv": {}}, "auth": {"provider": "kubernetes"}}`, nil,
		},
		"safety": {
			`{"providers": {"safety": [{"id": "a", "provider": "llama-guard"}]}, "resources": {"shields": ["s"]}}`,
			map[string][2]string{
				"spec.providers.safety": {"0.3", "0.8"}, "spec.providers.safety[0].provider": {"0.3", "0.8"}, "spec.resources.shields": {"0.3", "0.8"},
			},
		},
		"disabled": {`{"disabled": ["safety", "toolRuntime"], "providers": {"safety": {"provider": "llama-guard"}}, "resources": {"shields": ["s"]}}`, nil},
		"provider types": {
			`{"providers": {"inference": [{"id": "a", "provider": "deepseek"}, {"id": "b", "provider": "inline::transformers"}]}}`,
			map[string][2]string{"spec.providers.inference[0].provider": {"1.3", ""}, "spec.providers.inference[1].provider": {"0.7", "1.1"}},
		},
		"rerank models":        {`{"resources": {"models": [{"name": "r", "modelType": "rerank"}]}}`, map[string][2]string{"spec.resources.models[0].modelType": {"0.4", ""}}},
		"vector stores":        {`{"resources": {"vectorStores": [{"name": "v", "embeddingModel": "e"}]}}`, map[string][2]string{"spec.resources.vectorStores": {"0.4", ""}}},
		"authentication":       {`{"auth": {"provider": "api-key"}}`, map[string][2]string{"spec.auth.provider": {"1.4", ""}}},
		"metrics":              {`{"monitoring": {"enabled": true}}`, map[string][2]string{"spec.monitoring.enabled": {"1.2", ""}}},
		"metrics that are off": {`{"monitoring": {"enabled": false}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &v1alpha2.LlamaStackDistributionSpec{}
			framework.NoError(t, json.Unmarshal([]byte(c.spec), spec))
			var got map[string][2]string
			for _, n := range serverconfig.Needs(parse.Parse(spec)) {
				lines := catalog.LinesWhere(n.Has)
				if slices.Equal(lines, catalog.Lines()) {
					continue
				}
				if got == nil {
					got = map[string][2]string{}
				}
				last := lines[len(lines)-1]
				if last == catalog.Newest() {
					last = ""
				}
				got[n.Path] = [2]string{lines[0], last}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
