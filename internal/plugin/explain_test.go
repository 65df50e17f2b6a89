// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/tests/expect"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

func TestExplain(t *testing.T) {
	for file, name := range map[string]string{
		"field": "spec.workload.autoscaling", "leaf": "replicas", "open-field": "spec.providers.inference[0]", "list": "spec.resources.models",
		"rules": "spec.distribution", "provider": "remote::vllm", "several-providers": "milvus", "reason": "secretnotfound", "condition": "available",
		"secret": "spec.providers.inference.apiKey.secretKeyRef", "tool-group": "mcp", "two-reasons": "DeploymentReady",
		"kubernetes": "spec.workload.overrides.env.valueFrom",
	} {
		t.Run(file, func(t *testing.T) {
			expect.File(t, filepath.Join("testdata", "explain", file+".txt"), mustRun(t, "", "explain", name))
		})
	}
}

func TestExplainForPrograms(t *testing.T) {
	var fromJSON, fromYAML map[string]any
	framework.NoError(t, json.Unmarshal([]byte(mustRun(t, "", "explain", "milvus", "-o", "json")), &fromJSON))
	framework.NoError(t, yaml.Unmarshal([]byte(mustRun(t, "", "explain", "milvus", "-o", "yaml")), &fromYAML))
	if diff := cmp.Diff(fromJSON, fromYAML); diff != "" {
		t.Errorf("(-json +yaml):\n%s", diff)
	}
	var types []any
	for _, item := range fromJSON["items"].([]any) {
		types = append(types, item.(map[string]any)["provider"].(map[string]any)["type"])
	}
	if diff := cmp.Diff([]any{"inline::milvus", "remote::milvus"}, types); diff != "" {
		t.Error(diff)
	}
}

// Proves: FR-075 (a misspelled name gets the nearest name as a suggestion).
func TestExplainOfAnUnknownNameSuggestsOne(t *testing.T) {
	for name, want := range map[string]string{
		"spec.workload.replica":      `spec.workload has no field "replica": did you mean "replicas"?`,
		"spec.workload.replicas.now": `spec.workload.replicas has no field "now": its fields are: no known fields`,
		"SecretNotFond":              `did you mean "SecretNotFound"?`,
		"remote::vlm":                `did you mean "remote::vllm"?`,
		"labels":                     "several fields have the name \"labels\": use the path of one of them:\n  spec.networking.allowedFrom.labels\n",
	} {
		if r := run(t, "", "explain", name); r.code != cli.ExitFailure || r.out != "" || !strings.Contains(r.err, want) {
			t.Errorf("%s: exit code %d, %s%s\nwant %s", name, r.code, r.out, r.err, want)
		}
	}
}

func TestExplainCompletesNames(t *testing.T) {
	r := run(t, "", "__complete", "explain", "spec.networking.tls.c")
	if !strings.HasPrefix(r.out, "spec.networking.tls.caBundle\nspec.networking.tls.caBundle.configMapName\n:") {
		t.Errorf("completes to:\n%s", r.out)
	}
}
