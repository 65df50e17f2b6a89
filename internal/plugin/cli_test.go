// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// Proves: NFR-004 (wrong usage has its own exit code, and the message points to the help).
func TestInvalidUsage(t *testing.T) {
	const sample = samplesDir + "/v1alpha2-simple.yaml"
	for want, args := range map[string][]string{
		`unknown command "rendr" for "kubectl llamastack"`:              {"rendr"},
		`required flag(s) "filename" not set`:                           {"render"},
		"unknown flag: --file":                                          {"render", "--file", sample},
		`--output "toml": choose one of config, yaml`:                   {"render", "-f", sample, "-o", "toml"},
		"standard input can be read once":                               {"render", "-f", "-", "--settings", "-"},
		"no files: name them with --filename":                           {"validate"},
		`--output "xml": choose one of text, json`:                      {"validate", "-f", sample, "--output", "xml"},
		"unknown command \"x\"":                                         {"version", "x"},
		`unknown command "zhs"`:                                         {"completion", "zhs"},
		`unexpected argument "b.yaml": use a separate -f for each file`: {"render", "-f", sample, "b.yaml"},
		`--server-version: "nightly" is not in a known release line`:    {"render", "-f", sample, "--server-version", "nightly"},
		`--server-version: "0.2.3" is not in a known release line`:      {"render", "-f", sample, "--server-version", "0.2.3"},
	} {
		r := run(t, "", args...)
		if r.code != cli.ExitUsage || r.out != "" || !strings.Contains(r.err, want) || !strings.Contains(r.err, "\nSee 'kubectl llamastack") {
			t.Errorf("%v: exit code %d, standard output %q, standard error:\n%swant %q and where to look", args, r.code, r.out, r.err, want)
		}
	}
}

// Proves: NFR-004, FR-075 (the error names the missing or invalid file).
func TestInvalidFiles(t *testing.T) {
	const sample = samplesDir + "/v1alpha2-simple.yaml"
	for want, args := range map[string][]string{
		"missing.yaml: no such file":        {"render", "-f", "missing.yaml"},
		"no LlamaStackDistribution":         {"render", "-f", "testdata/settings.yaml"},
		"--base: open missing.yaml":         {"render", "-f", sample, "--base", "missing.yaml"},
		"--base: base configuration":        {"render", "-f", sample, "--base", write(t, "- a\n")},
		"--settings: open missing.yaml":     {"render", "-f", sample, "--settings", "missing.yaml"},
		"neither a manifest of that":        {"render", "-f", sample, "--settings", sample},
		`unknown key "apis": the keys are`:  {"render", "-f", sample, "--settings", "testdata/base.yaml"},
		"--image-labels: open missing.json": {"render", "-f", sample, "--image-labels", "missing.json"},
		"a JSON object of labels":           {"render", "-f", sample, "--image-labels", sample},
		"config.base64: not base64":         {"render", "-f", sample, "--image-labels", write(t, `{"io.llamastack.config.base64": "%"}`)},
		"pass it with --base": {"render", "-f", sample, "--image-labels",
			write(t, `{"io.llamastack.config.layer": "sha256:`+strings.Repeat("0", 64)+`", "io.llamastack.config.path": "/a"}`)},
		"--settings: ConfigMap llama-stack": {"validate", sample, "--settings", write(t, "forbid: '{}'\n")},
		`unknown key "Forbid": did you mean "forbid"? the keys are distributions, `: {"validate", "--settings",
			write(t, "kind: ConfigMap\nmetadata: {name: llama-stack-operator-config}\ndata: {Forbid: '[hostPathVolumes]'}\n")},
		"distributions\" is not a string": {"validate", sample, "--settings", write(t, "distributions: {}\n")},
	} {
		r := run(t, "", args...)
		if r.code != cli.ExitFailure || r.out != "" || !strings.Contains(r.err, want) {
			t.Errorf("%v: exit code %d, standard output %q, standard error:\n%swant %q", args, r.code, r.out, r.err, want)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, verb := range []string{"", "render", "validate", "version"} {
		args := append(strings.Fields(verb), "--help")
		out := mustRun(t, "", args...)
		if !strings.Contains(out, strings.TrimSpace("kubectl llamastack "+verb)) || !strings.Contains(out, "Examples:\n  ") {
			t.Errorf("%v:\n%s", args, out)
		}
	}
	if out := mustRun(t, ""); !strings.Contains(out, "Available Commands:") {
		t.Errorf("without a verb:\n%s", out)
	}
	if out := mustRun(t, "", "version"); !strings.HasPrefix(out, "kubectl-llamastack ") || !strings.Contains(out, "0.7") {
		t.Errorf("version:\n%s", out)
	}
	if out := mustRun(t, "", "version", "-o", "json"); !strings.Contains(out, `"version": "`) || !strings.Contains(out, `"`+catalog.Newest()+`"`) {
		t.Errorf("version -o json:\n%s", out)
	}
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if out := mustRun(t, "", "completion", shell); !strings.Contains(out, "kubectl-llamastack") {
			t.Errorf("%s: the script does not name the command:\n%s", shell, out)
		}
	}
	r := run(t, "", "__complete", "render", "-o", "")
	if r.code != cli.ExitOK || !strings.HasPrefix(r.out, "config\nyaml\njson\nenv\n") {
		t.Errorf("render -o completes to:\n%s", r.out)
	}
	if r := run(t, "", "__complete", "render", "--server-version", ""); !strings.Contains(r.out, "\n"+catalog.Newest()+"\n") {
		t.Errorf("render --server-version completes to:\n%s", r.out)
	}
}
