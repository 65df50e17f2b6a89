// SPDX-License-Identifier: Apache-2.0

package build

import (
	"encoding/json"
	"testing"

	kjson "sigs.k8s.io/json"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R48 (the form equals the encoding of a decoded tree, which existing hashes use).
func FuzzCanonicalJSON(f *testing.F) {
	for _, text := range []string{
		`{"b":{"d":1,"c":[{"z":null,"a":true}]},"a":"x"}`, `{"a":1,"a":2,"\u0061":3,"A":4}`, `[1.0,1e2,-0,0.1,9223372036854775807,9223372036854775808,1E-9]`,
		`{"<":"&","\u2028":"\ud83d\ude00","\ud800":"\/"}`, "{\"\xff\":\"\xff\"}", `{"é":1,"e":2,"":{}}`, `[]`, `"text"`, `{"a":1e999}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		raw, err := json.Marshal(json.RawMessage(text))
		if err != nil {
			return
		}
		var tree any
		if kjson.UnmarshalCaseSensitivePreserveInts(raw, &tree) != nil {
			return
		}
		want, err := json.Marshal(tree)
		framework.NoError(t, err)
		if got := canonicalJSON(json.RawMessage(text)); got != string(want) {
			t.Errorf("%s is written %s, want %s", text, got, want)
		}
	})
}
