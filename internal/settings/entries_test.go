// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// Proves: R81 (a registration that is not YAML harms only its own name; the message says which one, and in which line).
func TestBrokenEntryHarmsOnlyItsOwnName(t *testing.T) {
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
		if d, f := s.Resolve(named(name)); f != nil {
			t.Errorf("%s: %+v, %v", name, d, f)
		}
	}
	for name, want := range map[string]string{
		"second":      "llama-stack-operator-config/distributions[second]: error converting YAML to JSON: yaml: line 7",
		"third":       "llama-stack-operator-config/distributions[third]: the name stands twice",
		"remote-vllm": "llama-stack-operator-config/image-overrides[remote-vllm]: error converting YAML to JSON: yaml: line ",
	} {
		if _, f := s.Resolve(named(name)); f == nil || f.Reason != problem.InvalidOperatorSettings || !strings.Contains(f.String(), want) {
			t.Errorf("%s: %v, want %s", name, f, want)
		}
	}
	if got := s.Problems(); len(got) != 3 {
		t.Errorf("problems %v", got)
	}
	for _, text := range []string{"{a: {image: x}, b: [", "- a\n- b: [\n", "  a: [\n", "just text\n", "*a: [\n", "# \x01\n"} {
		if _, err := settings.Parse(map[string]string{settings.KeyDistributions: text}); err == nil {
			t.Errorf("%q: it is not known whom this harms, and nothing is reported", text)
		}
	}
}

// Proves: R81 (a name that is written in a way that only YAML as a whole explains is refused, with its line).
func TestNameThatIsNotPlainIsRefusedBesideABrokenEntry(t *testing.T) {
	_, err := settings.Parse(map[string]string{settings.KeyDistributions: "a: [\n\"\\x62\": {image: 'registry.example/b:1'}\n"})
	if err == nil || !strings.Contains(err.Error(), "line 2: want the name of a distribution") {
		t.Error(err)
	}
}

// FuzzEntries: whatever stands there, the built-in names work, or the error names the key.
func FuzzEntries(f *testing.F) {
	f.Add("a:\n  image: x:1\nb: [\n")
	f.Add("a: |\n x\n\ty\n'b': {}\n? c\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := settings.Parse(map[string]string{settings.KeyDistributions: text})
		if err != nil {
			if !strings.Contains(err.Error(), "key "+settings.KeyDistributions) {
				t.Error(err)
			}
			return
		}
		for _, err := range s.Problems() {
			if !strings.Contains(err.Error(), settings.KeyDistributions+"[") {
				t.Error(err)
			}
		}
	})
}
