// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Proves: R63 (texts that expand to large trees are rejected before they are parsed).
func TestScanYAMLEstimatesFromAbove(t *testing.T) {
	limits := Limits{Bytes: 100_000, Nodes: 1_000}
	for name, c := range map[string]struct{ text, want string }{
		"small":       {"a: 1\nb:\n- x\n- {c: [1, 2]}\n", ""},
		"text":        {"a: |\n" + strings.Repeat("  some words, and more\n", 900), ""},
		"long":        {strings.Repeat(" ", 100_001), "more than 100000 bytes"},
		"flow list":   {"[" + strings.Repeat("a,", 1_000) + "a]", "more than 1000 values"},
		"block list":  {strings.Repeat("- a\n", 1_001), "more than 1000 values"},
		"in one line": {strings.Repeat("- ", 1_001), "more than 1000 values"},
		"map":         {strings.Repeat("a: 1\n", 1_001), "more than 1000 values"},
		"brackets":    {strings.Repeat("[", 1_001), "more than 1000 values"},
	} {
		if got := message(ScanYAML([]byte(c.text), limits)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// FuzzScanYAML compares the estimate with the parser's tree.
//
// Proves: R63.
func FuzzScanYAML(f *testing.F) {
	for _, seed := range []string{"a: {b: [1, 2]}\n", "- - - x\n", "? a\n: b\n", "{\"a\":1}", "a:\n  - b\n  -\n", "&x [*x]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var tree yaml.Node
		if yaml.Unmarshal([]byte(text), &tree) != nil {
			return
		}
		values := valuesOf(&tree)
		if excess := ScanYAML([]byte(text), Limits{Bytes: len(text), Nodes: max(1, values/2-1)}); values > 3 && excess == nil {
			t.Errorf("%q has %d values", text, values)
		}
	})
}

// valuesOf counts the nodes of a tree, without keys and documents.
func valuesOf(n *yaml.Node) int {
	count := 1
	if n.Kind == yaml.DocumentNode {
		count = 0
	}
	for i, inner := range n.Content {
		if n.Kind != yaml.MappingNode || i%2 == 1 {
			count += valuesOf(inner)
		}
	}
	return count
}

func TestScanYAMLAllowsExactlyItsLimits(t *testing.T) {
	for text, nodes := range map[string]int{"a": 1, "a: b": 2, "[a,b]": 3, "a:": 2, "-": 2, "- a\n- b": 3, "a:b": 1, "a-b?c": 1, "?\ta": 2} {
		if excess := ScanYAML([]byte(text), Limits{Bytes: len(text), Nodes: nodes}); excess != nil {
			t.Errorf("%q: %v", text, excess)
		}
		if excess := ScanYAML([]byte(text), Limits{Bytes: len(text), Nodes: nodes - 1}); excess == nil || excess.Unit != Nodes {
			t.Errorf("%q has less than %d values: %v", text, nodes, excess)
		}
		if excess := ScanYAML([]byte(text), Limits{Bytes: len(text) - 1, Nodes: nodes}); excess == nil || excess.Unit != Bytes {
			t.Errorf("%q has less than %d bytes: %v", text, len(text), excess)
		}
	}
}
