// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: US-6.1, R45 (the sample and its configuration are valid; the end-to-end tests run it).
func TestSampleWithAConfigurationOfItsOwnIsRight(t *testing.T) {
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

// Proves: R88 (the page shows what validate reports about its example).
func TestPageOfOwnConfigurationsShowsTheFindings(t *testing.T) {
	const page = "../../docs/bring-your-own-config.md"
	var example, shown string
	for _, b := range framework.CodeBlocks(t, page) {
		switch b.Info {
		case "yaml":
			example = b.Text
		case "console":
			shown = b.Text
		}
	}
	command, want, _ := strings.Cut(shown, "\n")
	if command != "$ kubectl llamastack validate -f my-stack.yaml" {
		t.Fatalf("the page runs %q", command)
	}
	t.Chdir(t.TempDir())
	framework.WriteFile(t, "my-stack.yaml", example)
	r := run(t, "", "validate", "-f", "my-stack.yaml")
	if got := r.out + r.err; strings.TrimSpace(got) != strings.TrimSpace(want) || r.code != cli.ExitOK {
		t.Errorf("exit code %d\n%s\nwant\n%s", r.code, got, want)
	}
}

// Proves: R96 (the example of the page has no finding; without the provider in the file, the warning has the line to add).
func TestPageOfExternalProvidersBesideOwnConfiguration(t *testing.T) {
	var example string
	for _, b := range framework.CodeBlocks(t, "../../docs/external-providers.md") {
		if b.Info == "yaml" && strings.Contains(b.Text, "overrideConfig") {
			example = b.Text
		}
	}
	if r := run(t, example, "validate", "--strict", "-f", "-"); r.code != cli.ExitOK || r.out != "" {
		t.Errorf("exit code %d:\n%s%s", r.code, r.out, r.err)
	}
	unnamed := strings.NewReplacer("provider_type: remote::tiny", "provider_type: remote::vllm", "module: tiny_provider.inference", "").Replace(example)
	const want = "add to its providers.inference: - {provider_id: tiny, provider_type: remote::tiny, module: tiny_provider.inference}"
	if r := run(t, unnamed, "validate", "-f", "-"); r.code != cli.ExitOK || !strings.Contains(r.out, want) {
		t.Errorf("exit code %d:\n%s%s", r.code, r.out, r.err)
	}
}
