// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/cli/command"
)

// plugin runs kubectl llamastack as a user of the environment's namespace does.
func (e *env) plugin(stdin string, args ...string) (code int, out, errs string) {
	e.t.Helper()
	var stdout, stderr bytes.Buffer
	args = append(args, "--kubeconfig", cluster.Kubeconfig, "-n", e.namespace)
	code = cli.Run(e.t.Context(), args, command.Streams{In: strings.NewReader(stdin), Out: &stdout, Err: &stderr})
	return code, stdout.String(), stderr.String()
}

// Proves: US-2.2 (what an edit would change is known before it is made; afterwards, nothing differs).
func TestPluginShowsWhatAnEditChanges(t *testing.T) {
	e := newEnv(t)
	e.ready()
	before := sample(t, "v1alpha2-simple.yaml")
	if code, out, errs := e.plugin(before, "diff", "-f", "-"); code != command.OK || out != "" {
		t.Errorf("of what is applied, exit code %d:\n%s%s", code, out, errs)
	}
	after := strings.Replace(before, "http://vllm:8000", "http://vllm.other:8000", 1)
	versions := e.versions("my-stack")
	code, out, errs := e.plugin(after, "diff", "-f", "-")
	for _, want := range []string{
		"~ providers.inference[vllm].config.base_url   http://vllm:8000/v1 → http://vllm.other:8000/v1", "Pods restart: yes: config.yaml changes", "State moves: no",
	} {
		if code != command.Wrong || !strings.Contains(out, want) {
			t.Errorf("exit code %d, %q is not in:\n%s%s", code, want, out, errs)
		}
	}
	for name, version := range e.versions("my-stack") {
		if versions[name] != version {
			t.Errorf("%s is written by a command that changes nothing", name)
		}
	}
	file := filepath.Join(t.TempDir(), "after.yaml")
	if err := os.WriteFile(file, []byte(after), 0o600); err != nil {
		t.Fatal(err)
	}
	e.mustApply(after)
	if code, out, errs := e.plugin("", "diff", "-f", file); code != command.OK || out != "" {
		t.Errorf("after the edit, exit code %d:\n%s%s", code, out, errs)
	}
}
