// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// pageStep sets up what a section of a page needs, and cleans up afterwards.
type pageStep struct {
	before, after func(*testing.T, *reader)
	// alone means that the step stops the operator.
	alone bool
}

// pagesByTask are the pages that the test follows, in this order; each page starts with the server as the previous one
// leaves it.
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

// Each block "sh" succeeds; each command of a block "console" prints what the page shows, in which "…" matches
// anything; a block "yaml NAME" is the file NAME.
//
// Proves: NFR-004, FR-075.
func pagesKeepTheirWord(t *testing.T) {
	r := newReader(t)
	for _, p := range pagesByTask {
		r.ran = 0
		done := 0
		for _, s := range r.sections(t, p.page) {
			if s[0].Section == "" {
				t.Fatalf("%s has no title", p.page)
			}
			step, known := p.steps[s[0].Section]
			if known {
				done++
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
	}
	r.in(t).Kubectl("delete", "namespace", r.namespace, "--timeout=120s")
}

func (r *reader) read(t *testing.T, page string, blocks []framework.CodeBlock, step pageStep) {
	t.Helper()
	if step.before != nil {
		step.before(t, r)
	}
	for _, b := range blocks {
		r.follow(t, page, b)
	}
	if step.after != nil {
		step.after(t, r)
	}
}

// reader follows pages in its own namespace.
type reader struct {
	stack
	*framework.Follower
	// first and second are the keys of the model server before and after a rotation.
	first, second string
	ran           int
}

func newReader(t *testing.T) *reader {
	t.Helper()
	r := &reader{stack: stack{"e2e-pages", sampleName}, Follower: framework.NewFollower(t, cluster), first: newKey(), second: newKey()}
	namespace(t, r.namespace)
	r.startModelServer(t, sampleServer, sampleModel, r.first)
	r.Env = append(r.Env, "VLLM_API_TOKEN="+r.first, "NEW_VLLM_API_TOKEN="+r.second)
	r.Run("kubectl config set-context --current --namespace=" + r.namespace)
	return r
}

// sections returns the blocks of a page by section.
func (*reader) sections(t *testing.T, page string) (found [][]framework.CodeBlock) {
	t.Helper()
	for _, b := range framework.AllCodeBlocks(t, filepath.Join(framework.Root(), "docs", page)) {
		if last := len(found) - 1; last < 0 || found[last][0].Section != b.Section {
			found = append(found, nil)
		}
		found[len(found)-1] = append(found[len(found)-1], b)
	}
	return found
}

func (r *reader) follow(t *testing.T, page string, b framework.CodeBlock) {
	t.Helper()
	switch kind, file, _ := strings.Cut(b.Info, " "); {
	case kind == "yaml" && file != "":
		r.Write(file, b.Text)
	case kind == "sh" && strings.Contains(b.Text, "dist/install.yaml"):
		// A block that the README also has is run by the test of the README.
		if readme, err := os.ReadFile(filepath.Join(framework.Root(), "README.md")); err != nil || !strings.Contains(string(readme), b.Text) {
			t.Errorf("%s, line %d: nothing runs this: %v", page, b.Line, err)
		}
	case kind == "sh":
		if _, err := r.Try(b.Text); err != nil {
			t.Fatalf("%s, line %d: %v", page, b.Line, err)
		}
	case kind == "console":
		r.Console(page, b)
	default:
		t.Fatalf("%s, line %d: a block of the kind %q is not followed", page, b.Line, b.Info)
	}
	r.ran++
}
