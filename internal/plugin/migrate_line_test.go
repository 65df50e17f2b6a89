// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/tests/expect"
)

// ownConfig is a configuration in the style of llama-stack 0.2.
const ownConfig = `# Mine.
version: 2
image_name: mine
apis: [agents, inference, tool_runtime, vector_io]
providers:
  inference:
  - provider_id: vllm
    provider_type: remote::vllm
    config: {url: "${env.VLLM_URL:http://vllm:8000/v1}", api_token: canary-4711}
models:
- {model_id: llama, provider_id: vllm} # the only one
`

func configMap(key, content string) string {
	return "# In the cluster.\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: my-config} # mine\ndata:\n  other: \"1\"\n  " + key +
		": |\n    " + strings.ReplaceAll(strings.TrimSuffix(content, "\n"), "\n", "\n    ") + "\n"
}

// A golden file holds standard error, then the result.
//
// Proves: R88 (what is wrong with the result is reported).
func TestMigrateToAnotherReleaseLine(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: creds} # first\n"
	for name, c := range map[string]struct {
		text, line string
		code       int
	}{
		"run-yaml":   {strings.Replace(ownConfig, "agents, ", "", 1), "1.5", cli.ExitOK},
		"refused":    {strings.Replace(ownConfig, "remote::vllm", "remote::tgi", 1), "1.5.0", cli.ExitFailure},
		"config-map": {secret + "---\n" + configMap("run.yaml", strings.Replace(ownConfig, "agents, ", "", 1)), "0.7", cli.ExitOK},
		"second-document": {secret + "--- # next\n" + strings.Replace(ownConfig, "agents, ", "", 1) + "---\n" +
			configMap("config.yaml", "version: 2\ndistro_name: a\nproviders: {}\n"), "1.0", cli.ExitOK},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, c.text, "migrate", "-f", "-", "--to", c.line)
			if r.code != c.code || strings.Contains(r.err, "canary") {
				t.Errorf("exit code %d, want %d:\n%s", r.code, c.code, r.err)
			}
			expect.File(t, filepath.Join("testdata", "migrate-line", name+".txt"), r.err+"---\n"+r.out)
			if again := run(t, r.out, "migrate", "-f", "-", "--to", c.line); again.out != r.out {
				t.Errorf("the result changes again:\n%s%s", again.err, again.out)
			}
		})
	}
}

func TestMigrateToAnotherReleaseLineReportsWhatItCannotRead(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
		args       []string
		code       int
	}{
		"no configuration": {"apiVersion: v1\nkind: Secret\n", "no config.yaml of a server", []string{"--to", "1.5"}, cli.ExitFailure},
		"another ConfigMap": {
			configMap("other.yaml", ownConfig), "no config.yaml of a server", []string{"--to", "1.5"}, cli.ExitFailure,
		},
		"wrong shape": {
			"version: 2\nproviders: {inference: {}}\n", "stdin:1: line 2: providers.inference is not a list", []string{"--to", "1.5"},
			cli.ExitFailure,
		},
		"wrong shape in a ConfigMap": {
			configMap("config.yaml", "version: 2\nproviders: []\n"), "config.yaml: line 2: providers is not a map", []string{"--to", "1.5"},
			cli.ExitFailure,
		},
		"unknown release line": {ownConfig, "the known release lines are 0.3,", []string{"--to", "7"}, cli.ExitUsage},
		"another format":       {ownConfig, "--to and --output exclude each other", []string{"--to", "1.5", "-o", "json"}, cli.ExitUsage},
	} {
		r := run(t, c.text, append([]string{"migrate", "-f", "-"}, c.args...)...)
		if r.code != c.code || r.out != "" || !strings.Contains(r.err, c.want) {
			t.Errorf("%s: exit code %d:\n%s%s", name, r.code, r.err, r.out)
		}
	}
}
