// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// pageStep is what happens in the world of a reader before they read a section of a page, and what is put back afterwards.
type pageStep struct {
	before, after func(*testing.T, *reader)
	// alone says that the operator is stopped in between.
	alone bool
}

// pagesByTask are the pages that are followed, in this order, each from the state in which the one before it leaves the server.
var pagesByTask = []struct {
	page  string
	steps map[string]pageStep // by the title of the section
}{
	{"connect-model-server.md", nil},
	{"rotate-keys.md", map[string]pageStep{"The key of a model server": {before: modelServerWantsTheNewKey}}},
	{"scaling.md", nil},
	{"upgrade.md", nil},
	{"backup.md", map[string]pageStep{"The resource": {before: rememberACompletion}, "Restore": {before: loseEverything, after: completionIsThere}}},
	{"troubleshooting.md", faults},
	{"uninstall.md", map[string]pageStep{
		"A server, but not its data": {before: serverRunsAgain, after: completionIsThere}, "The operator, but not its servers": {alone: true},
	}},
}

// Anyone who follows the pages by task gets there: each block "sh" succeeds; each command of a block "console" prints what the page shows, in which "…"
// stands for anything; a block "yaml NAME" is the file NAME.
//
// Proves: NFR-004, FR-075 (what the documentation says can be done).
func pagesKeepTheirWord(t *testing.T) {
	r := newReader(t)
	for _, p := range pagesByTask {
		done := 0
		for i, s := range r.sections(t, p.page) {
			step, known := p.steps[s.title]
			if known {
				done++
			}
			if i == 0 && s.title == "" {
				t.Fatalf("%s has no title", p.page)
			}
			if step.alone {
				alone(func() { r.read(t, p.page, s, step) })
			} else {
				r.read(t, p.page, s, step)
			}
		}
		if done != len(p.steps) {
			t.Errorf("%s: %d sections of %d are found", p.page, done, len(p.steps))
		}
		did(t, "docs/%s: %d blocks do what they say", p.page, r.ran)
		r.ran = 0
	}
	r.kubectl(t, "delete", "namespace", r.namespace, "--timeout=120s")
}

func (r *reader) read(t *testing.T, page string, s section, step pageStep) {
	t.Helper()
	if step.before != nil {
		step.before(t, r)
	}
	for _, b := range s.blocks {
		r.follow(t, page, b)
	}
	if step.after != nil {
		step.after(t, r)
	}
}

// reader is someone who follows pages in a directory and a namespace of their own.
type reader struct {
	stack
	dir string
	env []string
	// first and second are the keys of the model server, before and after a rotation.
	first, second string
	ran           int
}

func newReader(t *testing.T) *reader {
	t.Helper()
	r := &reader{stack: stack{"e2e-pages", sampleName}, dir: t.TempDir(), first: newKey(), second: newKey()}
	namespace(t, r.namespace)
	r.startModelServer(t, sampleServer, sampleModel, r.first)
	kubeconfig := framework.ReadFile(t, cluster.Kubeconfig)
	bin, own := t.TempDir(), filepath.Join(t.TempDir(), "kubeconfig")
	framework.WriteFile(t, own, kubeconfig)
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin+"/", "./cmd/kubectl-llamastack")
	build.Dir = framework.Root()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r.env = append(os.Environ(), "KUBECONFIG="+own, "VLLM_API_TOKEN="+r.first, "NEW_VLLM_API_TOKEN="+r.second,
		"PATH="+strings.Join([]string{bin, filepath.Dir(cluster.Kubectl), os.Getenv("PATH")}, string(os.PathListSeparator)))
	if out, err := r.run(t, "kubectl config set-context --current --namespace="+r.namespace); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return r
}

// section is a part of a page under one heading.
type section struct {
	title  string
	blocks []framework.CodeBlock
}

var heading = regexp.MustCompile("^#+ (.*)$")

// sections are those of a page. Blocks of steps of a list are indented.
func (r *reader) sections(t *testing.T, page string) (found []section) {
	t.Helper()
	text := framework.ReadFile(t, filepath.Join(framework.Root(), "docs", page))
	var block *framework.CodeBlock
	indent := ""
	for i, line := range strings.Split(string(text), "\n") {
		trimmed := strings.TrimPrefix(line, "   ")
		switch last := len(found) - 1; {
		case block == nil && strings.HasPrefix(trimmed, "```"):
			block = &framework.CodeBlock{Line: i + 1, Info: strings.TrimPrefix(trimmed, "```")}
			indent = strings.TrimSuffix(line, trimmed)
		case block != nil && trimmed == "```":
			found[last].blocks = append(found[last].blocks, *block)
			block = nil
		case block != nil:
			block.Text += strings.TrimPrefix(line, indent) + "\n"
		default:
			if m := heading.FindStringSubmatch(line); m != nil {
				found = append(found, section{title: m[1]})
			}
		}
	}
	return found
}

func (r *reader) run(t *testing.T, commands string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", commands)
	cmd.Dir, cmd.Env, cmd.WaitDelay = r.dir, r.env, 10*time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// sh runs commands that must succeed.
func (r *reader) sh(t *testing.T, commands string) {
	t.Helper()
	if out, err := r.run(t, commands); err != nil {
		t.Fatalf("%v\n%s\nprints:\n%s", err, commands, out)
	}
}

func (r *reader) follow(t *testing.T, page string, b framework.CodeBlock) {
	t.Helper()
	switch kind, file, _ := strings.Cut(b.Info, " "); {
	case kind == "yaml" && file != "":
		framework.WriteFile(t, filepath.Join(r.dir, file), b.Text)
	case kind == "sh" && strings.Contains(b.Text, "dist/install.yaml"):
		// The README has it too, and is followed to the end.
		if readme, err := os.ReadFile(filepath.Join(framework.Root(), "README.md")); err != nil || !strings.Contains(string(readme), b.Text) {
			t.Errorf("%s, line %d: nothing runs this: %v", page, b.Line, err)
		}
	case kind == "sh":
		if out, err := r.run(t, b.Text); err != nil {
			t.Fatalf("%s, line %d: %v\n%s\nprints:\n%s", page, b.Line, err, b.Text, out)
		}
	case kind == "console":
		r.looks(t, page, b)
	default:
		t.Fatalf("%s, line %d: a block of the kind %q is not followed", page, b.Line, b.Info)
	}
	r.ran++
}

// looks runs the commands of a block, each until it prints what the page shows: a reader comes later than a test.
func (r *reader) looks(t *testing.T, page string, b framework.CodeBlock) {
	t.Helper()
	for each := range strings.SplitSeq(strings.TrimPrefix(b.Text, "$ "), "\n$ ") {
		command, shown, _ := strings.Cut(each, "\n")
		want := framework.OutputPattern(shown)
		framework.Eventually(t, 2*time.Minute, fmt.Sprintf("%s, line %d: %s", page, b.Line, command), func() error {
			out, err := r.run(t, command)
			if failed := strings.HasPrefix(shown, "error") || strings.Contains(shown, "webhook for"); failed != (err != nil) {
				return fmt.Errorf("%w\n%s", errors.Join(errors.New("it should have succeeded or failed"), err), out)
			}
			if !want.MatchString(out) {
				return fmt.Errorf("it prints\n%s\ninstead of\n%s", out, shown)
			}
			return nil
		})
	}
}
