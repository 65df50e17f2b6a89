// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
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
		"kubernetes": "spec.workload.overrides.env[1].valueFrom", "v1alpha1": "spec.server.containerSpec.env[0]", "v1alpha1-only": "spec.server.containerSpec.name",
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
		"spec.workload.replica":          `spec.workload has no field "replica": did you mean "replicas"?`,
		"spec.workload.replicas.now":     `spec.workload.replicas has no field "now": its fields are: no known fields`,
		"SecretNotFond":                  `did you mean "SecretNotFound"?`,
		"remote::vlm":                    `did you mean "remote::vllm"?`,
		"spec.server.containerSpec.prot": `spec.server.containerSpec has no field "prot": did you mean "port"?`,
		"spec.nonsense":                  `spec has no field "nonsense": its fields are: auth, disabled, `,
		"labels":                         "several fields have the name \"labels\": use the path of one of them:\n  spec.networking.allowedFrom.labels\n",
	} {
		if r := run(t, "", "explain", name); r.code != cli.ExitFailure || r.out != "" || !strings.Contains(r.err, want) {
			t.Errorf("%s: exit code %d, %s%s\nwant %s", name, r.code, r.out, r.err, want)
		}
	}
}

// Proves: FR-075 (explain finds the paths of findings, with indices and keys, in both versions).
func TestExplainKnowsThePathsOfValidate(t *testing.T) {
	for path, want := range map[string]string{
		"spec.providers.inference[0].apiKey":                         "spec.providers.inference.apiKey",
		"spec.providers.inference.apiKey.name":                       "spec.providers.inference.apiKey.name",
		"spec.providers.inference.settings.tls.verify[0]":            "spec.providers.inference.settings",
		"spec.providers.inference[1].secretRefs.api_token.name":      "spec.providers.inference.secretRefs.name",
		"spec.providers.inference[1].secretRefs[api_token]":          "spec.providers.inference.secretRefs",
		"spec.providers.inference[2].config.region_name":             "spec.providers.inference.settings",
		"spec.auth.secretRefs.clientSecret":                          "spec.auth.secretRefs",
		"spec.auth.accessPolicy[0].permit.actions":                   "spec.auth.accessPolicy",
		"spec.workload.overrides.env[1]":                             "spec.workload.overrides.env",
		"spec.workload.overrides.env[1].valueFrom.secretKeyRef":      "spec.workload.overrides.env.valueFrom.secretKeyRef",
		"spec.workload.podMetadata.labels[app.example.com/part]":     "spec.workload.podMetadata.labels",
		"spec.workload.podMetadata.labels[\"app.example.com/part\"]": "spec.workload.podMetadata.labels",
		"spec.workload.resources.limits[nvidia.com/gpu]":             "spec.workload.resources.limits",
		"spec.workload.resources.limits.memory":                      "spec.workload.resources.limits",
		"spec.resources.models[12].metadata.x.y":                     "spec.resources.models.metadata",
		"spec.workload.podMetadata.labels.app.kubernetes.io/name":    "spec.workload.podMetadata.labels",
		"metadata.name":                              "metadata",
		"metadata.labels[a/b]":                       "metadata",
		"spec.server.containerSpec.env[0].valueFrom": "spec.server.containerSpec.env.valueFrom",
		"spec.server.userConfig.configMapName":       "spec.server.userConfig.configMapName",
		"spec.replicas":                              "spec.replicas",
	} {
		if r := run(t, "", "explain", path); r.code != cli.ExitOK || !regexp.MustCompile(`(?m)^FIELD: +`+regexp.QuoteMeta(want)+"$").MatchString(r.out) {
			t.Errorf("%s: exit code %d, want %s:\n%s%s", path, r.code, want, r.out, r.err)
		}
	}
	files := slices.Concat(glob(t, "testdata/bad/*.yaml"), glob(t, "testdata/good/*.yaml"), glob(t, "testdata/examples.yaml"), glob(t, "../../internal/serverconfig/testdata/*/cr.yaml"))
	var got struct {
		Findings []struct{ Path, Code string }
	}
	framework.NoError(t, json.Unmarshal([]byte(run(t, "", append([]string{"validate", "-o", "json"}, files...)...).out), &got))
	explained := map[string]bool{}
	for _, f := range got.Findings {
		path, found := strings.CutPrefix(f.Path, "spec.")
		if !found || f.Code == "UnknownField" || explained[f.Path] {
			continue
		}
		explained[f.Path] = true
		if r := run(t, "", "explain", f.Path); r.code != cli.ExitOK || !strings.Contains(r.out, path[:strings.IndexAny(path+".", ".[")]) {
			t.Errorf("%s: exit code %d:\n%s%s", f.Path, r.code, r.out, r.err)
		}
	}
	if len(explained) < 40 {
		t.Errorf("only %d paths", len(explained))
	}
}

func TestExplainCompletesNames(t *testing.T) {
	r := run(t, "", "__complete", "explain", "spec.networking.tls.caBundle.")
	if !strings.HasPrefix(r.out, "spec.networking.tls.caBundle.configMapName\n:") {
		t.Errorf("completes to:\n%s", r.out)
	}
}
