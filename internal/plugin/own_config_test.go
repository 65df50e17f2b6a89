// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: US-6.1, R45 (the sample and its configuration are valid; the end-to-end tests run it).
func TestSampleWithOwnConfigurationIsValid(t *testing.T) {
	const sample = samplesDir + "/override-config.yaml"
	if r := run(t, "", "validate", "-f", sample); r.code != cli.ExitOK || r.out != "" {
		t.Errorf("exit code %d:\n%s%s", r.code, r.out, r.err)
	}
	raw := framework.ReadFile(t, sample)
	text, _, _ := strings.Cut(string(raw), "\n---\n")
	var cm corev1.ConfigMap
	framework.NoError(t, yaml.UnmarshalStrict([]byte(text), &cm))
	if read, err := serverconfig.ReadOverride([]byte(cm.Data[names.ConfigKey])); err != nil || read.Version != 2 {
		t.Errorf("%+v, %v", read, err)
	}
}

// Proves: R88 (validate and upgrade-check report what a release refuses or ignores in the user's own configuration; --strict fails on it).
func TestOwnConfigurationIsCheckedForItsRelease(t *testing.T) {
	file := write(t, `apiVersion: v1
kind: ConfigMap
metadata: {name: mine, namespace: default}
data:
  config.yaml: |
    version: 2
    image_name: mine
    apis: [inference]
    providers:
      inference:
      - {provider_id: vllm, provider_type: "remote::vllm", config: {url: "http://vllm:8000/v1"}}
    storage: {backends: {}, stores: {}}
    server: {insecure: true}
---
apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata: {name: my-stack, namespace: default}
spec:
  distribution: {name: starter, version: "0.3"}
  overrideConfig: {configMapName: mine}
`)
	const ignored = `config.yaml:6:70: providers.inference[0].config.url: the server ignores this: release line 1.5 has no such field: did you mean "base_url"?`
	newer := run(t, strings.Replace(string(framework.ReadFile(t, file)), `"0.3"`, `"1.5"`, 1), "validate", "-f", "-")
	if newer.code != cli.ExitOK || !strings.Contains(newer.out, ignored) {
		t.Errorf("validate: exit code %d\n%s%s", newer.code, newer.out, newer.err)
	}
	strict := run(t, strings.Replace(string(framework.ReadFile(t, file)), `"0.3"`, `"1.5"`, 1), "validate", "--strict", "-f", "-")
	if strict.code == cli.ExitOK {
		t.Errorf("validate --strict: exit code %d\n%s", strict.code, strict.out)
	}
	upgrade := run(t, "", "upgrade-check", "-f", file, "--to", "1.5")
	if !strings.Contains(upgrade.out, ignored) {
		t.Errorf("upgrade-check: exit code %d\n%s%s", upgrade.code, upgrade.out, upgrade.err)
	}
}

// Proves: R88 (the page shows what validate and migrate report about its example).
func TestPageOfOwnConfigurationsShowsTheFindings(t *testing.T) {
	const page = "../../docs/bring-your-own-config.md"
	var shown []string
	directory := t.TempDir()
	for _, b := range framework.CodeBlocks(t, page) {
		switch {
		case b.Info == "console":
			shown = append(shown, b.Text)
		case b.Info == "yaml" && len(shown) == 0:
			framework.WriteFile(t, filepath.Join(directory, "my-stack.yaml"), b.Text)
		}
	}
	t.Chdir(directory)
	for i, verb := range []string{"validate", "migrate"} {
		command, want, _ := strings.Cut(shown[i], "\n")
		if !strings.HasPrefix(command, "$ kubectl llamastack "+verb+" -f my-stack.yaml") {
			t.Errorf("the page runs %q", command)
		}
		r := run(t, "", verb, "-f", "my-stack.yaml")
		got := r.out + r.err
		if verb == "migrate" {
			got = r.err // the command redirects the result
		}
		if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(got)); diff != "" || r.code != cli.ExitOK {
			t.Errorf("%s: exit code %d (-want +got):\n%s", verb, r.code, diff)
		}
	}
}
