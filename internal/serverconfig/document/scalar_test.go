// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

func render(t *testing.T, n *yaml.Node) string {
	t.Helper()
	var b bytes.Buffer
	if err := yaml.NewEncoder(&b).Encode(n); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// The server reads YAML 1.1, so strings that YAML 1.1 would convert are quoted.
//
// Proves: FR-021, FR-033.
func TestStringsKeepTheirMeaning(t *testing.T) {
	quoted := []string{
		"", " ", "~", "null", "Null", "NULL", "y", "Y", "n", "N", "yes", "Yes", "no", "NO", "on", "On", "off", "true", "True", "FALSE",
		"1", "012", "0o12", "0x1f", "0b1", "1_000", "+1", "-1", "1.5", ".5", "1.", "1e5", "1.0e+5", "1E400", ".inf", "-.INF", ".nan",
		"1:30", "190:20:30.15", "2026-01-01", "2026-01-01T10:00:00Z", "=", "<<", "-", "- a", "?", ":", "a: b", "a #b", "#a", "a:",
		"!tag", "&a", "*a", "@a", "`a", "%a", "|", ">", "{a}", "[a]", "'a'", "\"a\"", " a", "a ", "a\nb", "a\tb", "\x00", "é", "a\u2028b", "\ufeff", "👍",
	}
	for _, s := range quoted {
		got := render(t, String(s))
		if !strings.HasPrefix(got, `"`) || !strings.HasSuffix(got, `"`) {
			t.Errorf("%q is written as %s, without double quotes", s, got)
		}
	}
	plain := []string{
		"vllm", "remote::vllm", "http://vllm:8000/v1?a=b&c=d", "${env.LLSD_VLLM_API_KEY}", "${env.X:=a}", "meta-llama/Llama-3.2", "/v1", "none", "nan", "e5",
	}
	for _, s := range plain {
		if got := render(t, String(s)); got != s {
			t.Errorf("%q is written as %s", s, got)
		}
	}
	for _, s := range append(quoted, plain...) {
		var back any
		if err := yaml.Unmarshal([]byte(render(t, String(s))), &back); err != nil || back != s {
			t.Errorf("%q comes back as %#v, %v", s, back, err)
		}
	}
}

// YAML 1.1 reads floats without a dot as strings.
//
// Proves: FR-033.
func TestNumbersKeepTheirMeaning(t *testing.T) {
	for want, v := range map[string]any{
		"1.0e-05": 0.00001, "1.0e+21": 1e21, "1.5e+300": 1.5e300, "0.5": 0.5, "8192.0": 8192.0, "-0.0": math.Copysign(0, -1), "2.5e-05": 0.000025,
		"8192": int64(8192), "-1": int64(-1), "9223372036854775807": int64(9223372036854775807), "true": true, "null": nil,
	} {
		if got := render(t, Value(v)); got != want {
			t.Errorf("%#v is written as %s, want %s", v, got, want)
		}
	}
}

// Maps merge, lists and scalars are replaced, null is a value, and new keys are sorted after the existing ones.
//
// Proves: FR-033, EC-1.
func TestMerge(t *testing.T) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte("z: {keep: 1, change: 2}\nlist: [1, 2]\nscalar: 1\nmap: {a: 1}\nnulled: 1\n"), &doc); err != nil {
		t.Fatal(err)
	}
	root := doc.Content[0]
	Merge(root, map[string]any{
		"z":    map[string]any{"change": int64(3), "add": "x"},
		"list": []any{int64(9)}, "scalar": map[string]any{"now": "map"}, "map": "now scalar", "nulled": nil, "b": int64(1), "a": int64(1),
	})
	var got map[string]any
	if err := root.Decode(&got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"z": map[string]any{"keep": 1, "change": 3, "add": "x"}, "list": []any{9}, "scalar": map[string]any{"now": "map"},
		"map": "now scalar", "nulled": nil, "a": 1, "b": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"z", "list", "scalar", "map", "nulled", "a", "b"}, Keys(root)); diff != "" {
		t.Error(diff)
	}
}
