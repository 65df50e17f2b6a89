// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"os"
	"slices"
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
    storage: {backends: {kv_default: {type: kv_sqlite, db_path: /.llama/kv.db}, sql_default: {type: sql_sqlite, db_path: /.llama/sql.db}}}
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

// Proves: R88 (the page shows what validate and migrate report about its examples).
func TestPageOfOwnConfigurationsShowsTheFindings(t *testing.T) {
	const page = "../../docs/bring-your-own-config.md"
	blocks := framework.CodeBlocks(t, page)
	t.Chdir(t.TempDir())
	example, commands := "", 0
	for _, b := range blocks {
		switch b.Info {
		case "yaml":
			example = b.Text
		case "console":
			commands++
			first, want, _ := strings.Cut(b.Text, "\n")
			command, target, redirected := strings.Cut(strings.TrimPrefix(first, "$ kubectl llamastack "), " > ")
			args := strings.Fields(command)
			file := args[slices.Index(args, "-f")+1]
			if _, err := os.Stat(file); err != nil { // a later command runs on an earlier example
				framework.WriteFile(t, file, example)
			}
			r := run(t, "", args...)
			got := r.out + r.err
			if redirected {
				framework.WriteFile(t, target, r.out)
				got = r.err
			}
			if strings.TrimSpace(got) != strings.TrimSpace(want) || r.code != cli.ExitOK {
				t.Errorf("%s: exit code %d\n%s\nwant\n%s", first, r.code, got, want)
			}
		}
	}
	if commands != 3 {
		t.Errorf("the page runs %d commands", commands)
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

// Proves: R88 (validate judges a registration as its first custom resource would, with line and column; --strict fails on warnings).
func TestSettingsAloneJudgeRegisteredBases(t *testing.T) {
	registration := func(url, providerType string) string {
		return write(t, `apiVersion: v1
kind: ConfigMap
metadata: {name: distribution-a, labels: {llamastack.io/distribution: a}}
data:
  image: registry.example.com/a:1.5.0
  config.yaml: |
    version: 2
    distro_name: a
    apis: [inference]
    providers:
      inference:
      - {provider_id: vllm, provider_type: "`+providerType+`", config: {`+url+`: "http://vllm:8000/v1"}}
    storage: {backends: {kv_default: {type: kv_sqlite, db_path: /a}, sql_default: {type: sql_sqlite, db_path: /b}}, stores: {}}
`)
	}
	const at = ": ConfigMap distribution-a: config.yaml:6:"
	ignored := registration("url", "remote::vllm")
	const warning = at + `70: providers.inference[0].config.url: the server ignores this: release line 1.5 has no such field: did you mean "base_url"?`
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--settings", registration("base_url", "remote::vllm"), "--strict"}, cli.ExitOK, ""},
		{[]string{"--settings", ignored}, cli.ExitOK, ignored + ": warning" + warning},
		{[]string{"--settings", ignored, "--strict"}, cli.ExitFailure, warning},
		{[]string{"--settings", registration("base_url", "remote::vlm")}, cli.ExitFailure, ": error" + at + "40: providers.inference[0].provider_type: " +
			`the server does not start with this: release line 1.5 has no type "remote::vlm" of inference providers: did you mean "remote::vllm"?`},
	} {
		r := run(t, "", append([]string{"validate"}, c.args...)...)
		if r.code != c.code || !strings.Contains(r.out, c.want) || c.want == "" && r.out != "" {
			t.Errorf("%v: exit code %d\n%s%s", c.args, r.code, r.out, r.err)
		}
	}
	// A custom resource that uses the base reports what stops its server, and not what the server ignores.
	cr := write(t, "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: a}\n"+
		"spec: {distribution: {name: a}, resources: {models: [{name: m, provider: vllm}]}}\n")
	if r := run(t, "", "validate", cr, "--settings", ignored); r.code != cli.ExitOK || r.out != "" {
		t.Errorf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
}

// Proves: R88 (the page of the settings shows what validate reports about a registration with the file of the other page).
func TestPageOfSettingsShowsTheFindingsOfARegistration(t *testing.T) {
	var registration, shown string
	for _, b := range framework.CodeBlocks(t, "../../docs/bring-your-own-config.md") {
		if b.Info == "yaml" && registration == "" {
			registration, _, _ = strings.Cut(b.Text, "---\n")
		}
	}
	for _, b := range framework.CodeBlocks(t, "../../docs/operator-settings.md") {
		if b.Info == "console" && strings.Contains(b.Text, "validate --settings registration.yaml") {
			_, shown, _ = strings.Cut(b.Text, "\n")
		}
	}
	t.Chdir(t.TempDir())
	framework.WriteFile(t, "registration.yaml", strings.NewReplacer("name: my-config", "name: distribution-in-house\n  labels: {llamastack.io/distribution: in-house}",
		"data:\n", "data:\n  image: registry.example.com/in-house:1.5.0\n").Replace(registration))
	r := run(t, "", "validate", "--settings", "registration.yaml")
	if got := r.out + r.err; strings.TrimSpace(got) != strings.TrimSpace(shown) || r.code != cli.ExitOK {
		t.Errorf("exit code %d\n%s\nwant\n%s", r.code, got, shown)
	}
}
