// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	crane "github.com/google/go-containerregistry/cmd/crane/cmd"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/files"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const root = "../.."

// asPlugin is the environment variable that makes the test binary run as the plugin.
const asPlugin = "LLSD_TEST_AS_PLUGIN"

func TestMain(m *testing.M) {
	if os.Getenv(asPlugin) != "" {
		if filepath.Base(os.Args[0]) == "crane" {
			if err := crane.New("crane", "", nil).Execute(); err != nil {
				os.Exit(1)
			}
			os.Exit(0)
		}
		main()
	}
	os.Exit(m.Run())
}

// pluginRun returns a directory with the plugin and crane.
func pluginRun(t *testing.T) string {
	t.Helper()
	program, err := os.Executable()
	framework.NoError(t, err)
	dir := t.TempDir()
	for _, name := range []string{"kubectl-llamastack", "crane"} {
		framework.NoError(t, os.Symlink(program, filepath.Join(dir, name)))
	}
	return dir
}

// reader follows the documentation in its own directory.
type reader struct{ plugin, dir string }

// run runs a script with a kubectl function that only calls the plugin.
func (r reader) run(t *testing.T, script string) (code int, out string) {
	t.Helper()
	const kubectl = `kubectl() { [ "$1" = llamastack ] || return 99; shift; kubectl-llamastack "$@"; }` + "\n"
	cmd := exec.CommandContext(t.Context(), "bash", "-e", "-o", "pipefail", "-c", kubectl+script)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), asPlugin+"=yes", "PATH="+r.plugin+string(os.PathListSeparator)+os.Getenv("PATH"))
	var buffer bytes.Buffer
	cmd.Stdout, cmd.Stderr = &buffer, &buffer
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), buffer.String()
}

func (r reader) copy(t *testing.T, from, to string) {
	t.Helper()
	content := framework.ReadFile(t, filepath.Join(root, from))
	to = filepath.Join(r.dir, to)
	framework.NoError(t, os.MkdirAll(filepath.Dir(to), 0o750))
	framework.WriteFile(t, to, content)
}

const testdata = "internal/plugin/testdata/"

func newReader(t *testing.T) reader {
	t.Helper()
	r := reader{pluginRun(t), t.TempDir()}
	for _, sample := range []string{"v1alpha2-simple.yaml", "v1alpha2-multi-provider.yaml", "v1alpha2-distribution-only.yaml"} {
		r.copy(t, "config/samples/"+sample, "config/samples/"+sample)
	}
	r.copy(t, "config/samples/v1alpha2-simple.yaml", "my-stack.yaml")
	r.copy(t, "config/samples/v1alpha2-simple.yaml", "deploy/team/my-stack.yaml")
	r.copy(t, testdata+"good/in-house.yaml", "in-house-stack.yaml")
	r.copy(t, testdata+"good/v1alpha1.yaml", "v1alpha1-stack.yaml")
	r.copy(t, testdata+"settings.yaml", "settings.yaml")
	r.copy(t, testdata+"base.yaml", "config.yaml")
	r.copy(t, "distributions/starter/0.3.yaml", "run.yaml")
	return r
}

// Proves: NFR-004 (exit codes, streams and standard input).
func TestCommand(t *testing.T) {
	r := newReader(t)
	r.copy(t, testdata+"bad/duplicate-ids.yaml", "bad.yaml")
	for script, want := range map[string]struct {
		code int
		out  string
	}{
		"kubectl llamastack render -f my-stack.yaml 2>&1 >/dev/null":                          {0, files.AssumedNote},
		"kubectl llamastack render -f my-stack.yaml --settings settings.yaml 2>&1 >/dev/null": {0, ""},
		"kubectl llamastack render -f - < my-stack.yaml 2>/dev/null | head -1":                {0, "# Generated for the LlamaStackDistribution default/my-stack: edit that resource, not this file.\n"},
		"kubectl llamastack render -f bad.yaml 2>/dev/null":                                   {1, ""},
		"kubectl llamastack render -f bad.yaml 2>&1 | cut -c-40":                              {1, "bad.yaml:13: error: duplicate-ids: spec.\n"},
		"kubectl llamastack validate bad.yaml 2>/dev/null | cut -c-5":                         {1, "bad.y\n"},
		"kubectl llamastack validate my-stack.yaml 2>/dev/null":                               {0, ""},
		"kubectl llamastack render 2>/dev/null":                                               {2, ""},
		"kubectl llamastack rendr 2>/dev/null":                                                {2, ""},
	} {
		code, out := r.run(t, script)
		if code != want.code || out != want.out {
			t.Errorf("%s: exit code %d, want %d; output %q, want %q", script, code, want.code, out, want.out)
		}
	}
}

// BenchmarkRender runs the plugin as a process. docs/maintainers/performance.md has the results.
func BenchmarkRender(b *testing.B) {
	command := filepath.Join(b.TempDir(), "kubectl-llamastack")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", command, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v:\n%s", err, out)
	}
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), command, "render", "-f", filepath.Join(root, "config", "samples", "v1alpha2-simple.yaml"))
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v:\n%s", err, out)
		}
	}
}

var block = regexp.MustCompile("(?s)\n```(sh|yaml)\n(.*?)```\n")

// Proves: FR-075, NFR-004 (the commands of docs/kubectl-plugin.md, the pre-commit hook and the workflow).
func TestDocumentation(t *testing.T) {
	text := framework.ReadFile(t, filepath.Join(root, "docs", "kubectl-plugin.md"))
	r := newReader(t)
	ran := map[string]int{}
	for _, m := range block.FindAllStringSubmatch(string(text), -1) {
		switch kind, content := m[1], m[2]; {
		case strings.HasPrefix(content, "#!"):
			r.completes(t, content)
			ran["completion"]++
		case kind == "sh":
			if code, out := r.run(t, content); code != 0 || out == "" && !strings.Contains(content, " > ") {
				t.Errorf("exit code %d:\n%s%s", code, content, out)
			}
			ran[kind]++
		case strings.HasPrefix(content, "repos:"):
			r.inPreCommit(t, content)
			ran["pre-commit"]++
		default:
			r.inWorkflow(t, content)
			ran["workflow"]++
		}
	}
	if ran["sh"] < 5 || ran["completion"] != 1 || ran["pre-commit"] != 1 || ran["workflow"] != 1 {
		t.Errorf("not every example was found: %v", ran)
	}
	if _, out := r.run(t, "diff before.yaml <(kubectl llamastack render -f my-stack.yaml 2>/dev/null) | grep -c vllm.ai || true"); out != "1\n" {
		t.Errorf("the edit in the documentation changes %s lines to the new endpoint, want 1", out)
	}
}

// Proves: NFR-004 (each row about this operator has a command that works without a cluster).
func TestComparison(t *testing.T) {
	text := framework.ReadFile(t, filepath.Join(root, "docs", "maintainers", "comparison.md"))
	r := reader{plugin: pluginRun(t), dir: root}
	ran := 0
	for row := range strings.Lines(string(text)) {
		if !strings.HasPrefix(row, "| ") || strings.HasPrefix(row, "| |") {
			continue
		}
		m := lastCell.FindStringSubmatch(row)
		if m == nil {
			t.Errorf("no command in %s", row)
			continue
		}
		if code, out := r.run(t, m[1]); code != 0 || strings.TrimSpace(out) == "" {
			t.Errorf("exit code %d: %s\n%s", code, m[1], out)
		}
		ran++
	}
	if ran < 25 {
		t.Errorf("only %d commands are found", ran)
	}
}

var lastCell = regexp.MustCompile("\\| `([^`]+)` \\|\n$")

// completes runs the completion script of kubectl.
func (r reader) completes(t *testing.T, script string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubectl_complete-llamastack")
	framework.NoError(t, os.WriteFile(file, []byte(script), 0o700))
	if code, out := r.run(t, file+" render -o ''"); code != 0 || !strings.HasPrefix(out, "config\nyaml\n") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// inPreCommit runs the hook as pre-commit does: the entry with the files as arguments.
func (r reader) inPreCommit(t *testing.T, text string) {
	t.Helper()
	var file struct {
		Repos []struct {
			Hooks []struct{ Entry, Files string }
		}
	}
	framework.NoError(t, yaml.Unmarshal([]byte(text), &file))
	hook := file.Repos[0].Hooks[0]
	if !regexp.MustCompile(hook.Files).MatchString("deploy/team/my-stack.yaml") {
		t.Errorf("the hook does not look at manifests: %s", hook.Files)
	}
	if code, out := r.run(t, hook.Entry+" my-stack.yaml settings.yaml"); code != 0 {
		t.Errorf("exit code %d for files that are right:\n%s", code, out)
	}
	r.copy(t, testdata+"bad/unknown-field.yaml", "bad.yaml")
	if code, out := r.run(t, hook.Entry+" my-stack.yaml bad.yaml"); code != 1 || !strings.Contains(out, "bad.yaml:8: error: ") {
		t.Errorf("exit code %d for a file that is wrong:\n%s", code, out)
	}
}

// inWorkflow runs the steps of the workflow.
func (r reader) inWorkflow(t *testing.T, text string) {
	t.Helper()
	var workflow struct {
		Jobs map[string]struct{ Steps []struct{ Run string } }
	}
	framework.NoError(t, yaml.Unmarshal([]byte(text), &workflow))
	for _, step := range workflow.Jobs["validate"].Steps {
		if step.Run == "" {
			continue
		}
		if code, out := r.run(t, step.Run); code != 0 {
			t.Errorf("exit code %d for files that are right:\n%s", code, out)
		}
		r.copy(t, testdata+"bad/unknown-field.yaml", "deploy/team/bad.yaml")
		if code, out := r.run(t, step.Run); code != 1 || !strings.HasPrefix(out, "::error file=deploy/team/bad.yaml,line=8,title=unknown-field::") {
			t.Errorf("exit code %d for a file that is wrong:\n%s", code, out)
		}
		return
	}
	t.Error("the workflow runs nothing")
}
