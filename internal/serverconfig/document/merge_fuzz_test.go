// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// FuzzMerge merges arbitrary JSON: maps merge, other values replace, and the inputs stay unchanged and unshared.
//
// Proves: R9, L-11.
func FuzzMerge(f *testing.F) {
	f.Add(`{"a": {"b": 1, "c": [1, 2]}, "d": null}`, `{"a": {"c": {"x": true}}, "e": "f"}`)
	f.Add(`{"a": null}`, `{"a": {"b": {}}}`)
	f.Add(`{"a": {"b": 1}}`, `{"a": null}`)
	f.Fuzz(func(t *testing.T, under, over string) {
		low, high := decodeMap(under), decodeMap(over)
		if low == nil || high == nil {
			return
		}
		original, result := Value(low), Value(low)
		copied := Clone(original)
		Merge(result, high)
		Merge(copied, high)
		if !cmp.Equal(Plain(original), Plain(Value(low))) {
			t.Error("a copy shares something with what it was copied from")
		}
		if !cmp.Equal(Plain(result), Plain(copied)) {
			t.Error("a copy merges otherwise")
		}
		if want := merged(low, high); !cmp.Equal(Plain(result), Plain(Value(want))) {
			t.Errorf("merged %v\nwant %v", Plain(result), want)
		}
		if !cmp.Equal(high, decodeMap(over)) {
			t.Error("what is laid over was changed")
		}
		spoil(result)
		if !cmp.Equal(high, decodeMap(over)) || !cmp.Equal(Plain(Value(low)), Plain(original)) {
			t.Error("the result shares something with its inputs")
		}
	})
}

func decodeMap(text string) map[string]any {
	var v map[string]any
	decoder := json.NewDecoder(strings.NewReader(text))
	if decoder.Decode(&v) != nil || decoder.More() {
		return nil
	}
	return v
}

// merged is a reference implementation of Merge for plain maps.
func merged(low, high map[string]any) map[string]any {
	result := maps.Clone(low)
	for key, value := range high {
		lowMap, lowIsMap := result[key].(map[string]any)
		highMap, highIsMap := value.(map[string]any)
		if lowIsMap && highIsMap {
			value = merged(lowMap, highMap)
		}
		result[key] = value
	}
	return result
}

func spoil(n *yaml.Node) {
	n.Value += "spoiled"
	for _, inner := range n.Content {
		spoil(inner)
	}
}
