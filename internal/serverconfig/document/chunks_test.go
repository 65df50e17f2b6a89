// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// FuzzChunks compares the text of a map written in chunks with the YAML library's text of the whole.
//
// Proves: R48, R63.
func FuzzChunks(f *testing.F) {
	for _, text := range []string{
		"a: 1\nb: [x, {c: d, e: [1, [2, [3]]]}]\n", `{"a": {"b": {"c": [[], {}, [[1], 2]]}}}`, "? |\n  two\n  lines\n: {a: {b: c}}\n",
		"a: |\n  text\n\n   more\nb: \"\\ttab\"\nc: [\"\\n\", ' ']\n", "'1': {'yes': {'': {' ': [{'#': x}, {y: '- z'}]}}}\n",
		"- - - a\n    - b\n  - c: {d: e}\n",
		`{"` + strings.Repeat("k", 200) + `": {"a": {"b": "c"}}}`,
	} {
		f.Add(text, 1)
		f.Add(text, 4)
	}
	f.Fuzz(func(t *testing.T, text string, nodes int) {
		root, err := Read([]byte(text))
		if err != nil || !inBlocks(root) || nodes < 1 {
			return
		}
		var whole bytes.Buffer
		encoder := yaml.NewEncoder(&whole)
		encoder.SetIndent(indent)
		encoder.CompactSeqIndent()
		wanted := errors.Join(encoder.Encode(root), encoder.Close())
		got, err := encode(root, limits.ConfigBytes*10, nodes)
		if (err == nil) != (wanted == nil) {
			t.Fatalf("%v, want %v", err, wanted)
		}
		if diff := cmp.Diff(whole.String(), string(got)); err == nil && diff != "" {
			t.Errorf("chunks of %d nodes (-want +got):\n%s", nodes, diff)
		}
		if _, err := encode(root, len(got)-1, nodes); err == nil {
			t.Error("one byte more than may be is written")
		}
	})
}

// Proves: R63 (the encoder does not hold the events of the whole map).
func BenchmarkEncode(b *testing.B) {
	settings := map[string]any{}
	for i := range limits.OpenFieldNodes {
		settings[fmt.Sprint("key-", i)] = "value"
	}
	root := Value(map[string]any{"providers": map[string]any{"inference": []any{map[string]any{"config": settings}}}})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := encode(root, limits.ConfigBytes, chunkNodes); err != nil {
			b.Fatal(err)
		}
	}
}
