// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R81 (the message has the name and the line).
func TestInvalidEntryAffectsOnlyItsName(t *testing.T) {
	const text = `# ours
first:
  image: registry.example/first:0.7.1
second:
  image: registry.example/second:0.7.1
  config: |
    version: 2
   apis: [
third: {image: 'registry.example/third:0.7.1'}
third: {image: 'registry.example/other:0.7.1'}
"fourth":
  image: registry.example/fourth:0.7.1
`
	s := parse(t, map[string]string{settings.KeyDistributions: text, settings.KeyImageOverrides: "remote-vllm: [\nmine: registry.example/mine:0.7.1\n"})
	for _, name := range []string{"starter", "first", "fourth", "mine", "postgres-demo"} {
		if d, f := s.Resolve(byName(name)); f != nil {
			t.Errorf("%s: %+v, %v", name, d, f)
		}
	}
	for name, want := range map[string]string{
		"second":      "llama-stack-operator-config/distributions[second]: starts at line 4 of the key; line numbers count from there: error converting YAML to JSON: yaml: line 4",
		"third":       "llama-stack-operator-config/distributions[third]: duplicate name",
		"remote-vllm": "llama-stack-operator-config/image-overrides[remote-vllm]: starts at line 1 of the key; line numbers count from there: error converting YAML to JSON: yaml: line ",
	} {
		if _, f := s.Resolve(byName(name)); f == nil || f.Reason != problem.InvalidOperatorSettings || !strings.Contains(f.String(), want) {
			t.Errorf("%s: %v, want %s", name, f, want)
		}
	}
	if got := s.Problems(); len(got) != 3 {
		t.Errorf("problems %v", got)
	}
}

// Proves: R81 (built-in names work beside an unreadable key, except those that it may contain).
func TestUnreadableKeyAffectsOnlyRelatedNames(t *testing.T) {
	for text, harmed := range map[string][]string{
		"{a: {image: x}, b: [": nil,
		"- a\n- b: [\n":        nil,
		"- starter: [\n":       {"starter"},
		"  'starter' : [\n":    {"starter"},
		"{\"remote-vllm\":{image: starter:1}, postgres-demo: [": {"remote-vllm", "postgres-demo"},
		"  a: [\n":    nil,
		"just text\n": nil,
		"*a: [\n":     nil,
		"# \x01\n":    nil,
		"a: [\n\"\\x62\": {image: 'registry.example/starter:1'}\n": nil, // only the whole YAML gives this name
		strings.Repeat("a: x\n", limits.DocumentNodes):             nil,
	} {
		for _, key := range []string{settings.KeyDistributions, settings.KeyImageOverrides} {
			s := parse(t, map[string]string{key: text})
			for _, name := range []string{"starter", "remote-vllm", "postgres-demo", "meta-reference-gpu"} {
				_, p := s.Resolve(byName(name))
				if want := slices.Contains(harmed, name); (p != nil) != want || want && p.Reason != problem.InvalidOperatorSettings {
					t.Errorf("%s: %.40q: %s: %v", key, text, name, p)
				}
			}
			const place = "ConfigMap llama-stack-operator-config, key "
			if _, p := s.Resolve(byName("unknown")); p == nil || p.Reason != problem.InvalidOperatorSettings || !strings.Contains(p.String(), place+key) {
				t.Errorf("%s: %.40q: a name that would come from the key: %v", key, text, p)
			}
			if got := s.Problems(); len(got) != 1 || got[0].ConfigMap != settings.ConfigMapName || !strings.Contains(got[0].Err.Error(), place+key) {
				t.Errorf("%s: %.40q: problems %v", key, text, got)
			}
		}
	}
	s := parse(t, map[string]string{settings.KeyDistributions: "[{image: registry.example/ai/server:1"})
	if _, p := s.Resolve(byImage("registry.example/ai/server:2")); p == nil || p.Reason != problem.InvalidOperatorSettings {
		t.Errorf("an image that the key may register: %v", p)
	}
	if _, p := s.Resolve(byImage("registry.example/ai/other:2")); p != nil {
		t.Errorf("another image: %v", p)
	}
}

// FuzzEntries checks that built-in names work, or that the error names the key.
func FuzzEntries(f *testing.F) {
	f.Add("a:\n  image: x:1\nb: [\n")
	f.Add("a: |\n x\n\ty\n'b': {}\n? c\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := settings.Parse(map[string]string{settings.KeyDistributions: text})
		framework.NoError(t, err)
		for _, p := range s.Problems() {
			if !strings.Contains(p.Err.Error(), settings.KeyDistributions) {
				t.Error(p.Err)
			}
		}
	})
}
