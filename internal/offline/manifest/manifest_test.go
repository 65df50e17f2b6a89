// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
)

func readText(t *testing.T, text string) ([]*manifest.Document, []error) {
	t.Helper()
	return manifest.Read([]string{manifest.Stdin}, false, strings.NewReader(text))
}

// Proves: NFR-004.
func TestLineOf(t *testing.T) {
	docs, errs := readText(t, `# 1
---
apiVersion: v1 # 3
kind: X
metadata:
  name: x # 6
  annotations:
    example.com/a: b # 8
spec:
  providers: &p
    inference:
    - id: a # 12
      config: {"a.b": 1} # 13
    -
      id: b # 15
  again: *p # 16
`)
	if len(errs) > 0 || len(docs) != 1 {
		t.Fatalf("%d documents, %v", len(docs), errs)
	}
	d := docs[0]
	if d.Position() != "stdin:3" || d.Name() != "x" || d.Kind() != "X" || d.APIVersion() != "v1" {
		t.Errorf("%s %s %s %s", d.Position(), d.Name(), d.Kind(), d.APIVersion())
	}
	for path, want := range map[string]int{
		"":                                    3,
		"config.yaml":                         3,
		"metadata.name":                       6,
		"metadata.annotations[example.com/a]": 8,
		"spec.providers.inference":            11,
		"spec.providers.inference[0].id":      12,
		"spec.providers.inference[0].apiKey":  12,
		`spec.providers.inference[0].config["a.b"]`: 13,
		"spec.providers.inference[1].id":            15,
		"spec.providers.inference[1].id.x[7":        15,
		"spec.providers.inference[9]":               11,
		"spec.again.inference[1].id":                15,
		"spec.nothing.here":                         9,
	} {
		if got := d.LineOf(path); got != want {
			t.Errorf("%s: line %d, want %d", path, got, want)
		}
	}
}

// Proves: NFR-004 (documents are split as kubectl splits them).
func TestDocuments(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string // place and name
	}{
		"nothing":             {"", nil},
		"comments":            {"# a\n---\n# b\n--- # c\n", nil},
		"no separator at end": {"metadata: {name: a}", []string{"stdin:1 a"}},
		"several":             {"metadata: {name: a}\n---\nmetadata: {name: b}\n", []string{"stdin:1 a", "stdin:3 b"}},
		"on the separator":    {"--- {metadata: {name: a}}\n---\nmetadata: {name: b}\n", []string{"stdin:1 a", "stdin:3 b"}},
		"line ends of DOS":    {"metadata:\r\n  name: a\r\n---\r\nmetadata:\r\n  name: b\r\n", []string{"stdin:1 a", "stdin:4 b"}},
		"JSON":                {`{"metadata": {"name": "a"}}`, []string{"stdin:1 a"}},
		"dashes in a text":    {"metadata: {name: a}\nx: |\n  ---\n  y\n", []string{"stdin:1 a"}},
		"not objects":         {"- a\n---\nb\n---\nmetadata: {name: c}\n", []string{"stdin:5 c"}},
		"a list":              {"kind: List\nitems:\n- metadata: {name: a}\n- b\n- metadata: {name: c}\n", []string{"stdin:3 a", "stdin:5 c"}},
		"a list of a kind":    {"kind: LlamaStackDistributionList\nitems:\n- metadata: {name: a}\n", []string{"stdin:3 a"}},
		"items of another":    {"kind: ConfigMap\nmetadata: {name: a}\nitems:\n- metadata: {name: b}\n", []string{"stdin:1 a"}},
	} {
		docs, errs := readText(t, c.text)
		var got []string
		for _, d := range docs {
			got = append(got, d.Position()+" "+d.Name())
		}
		if diff := cmp.Diff(c.want, got); diff != "" || len(errs) > 0 {
			t.Errorf("%s: %v (-want +got):\n%s", name, errs, diff)
		}
	}
}

// Proves: NFR-004 (other documents are still read, and errors have the line in the file).
func TestUnreadable(t *testing.T) {
	docs, errs := readText(t, "metadata: {name: a}\n---\nx: 1\nx: 2\n---\na: b\n c: d\n---\nmetadata: {name: b}\n")
	if len(docs) != 2 || len(errs) != 2 {
		t.Fatalf("%d documents, errors %v", len(docs), errs)
	}
	for i, want := range []string{`stdin:4: not YAML: unmarshal errors: line 4: key "x" already set in map`, "stdin:7: not YAML: line 7: mapping values"} {
		if !strings.HasPrefix(errs[i].Error(), want) {
			t.Errorf("%v, want %s", errs[i], want)
		}
		if _, ok := manifest.AsSyntaxError(errs[i]); !ok {
			t.Errorf("%T is no SyntaxError", errs[i])
		}
	}
}

// Proves: NFR-001 (files are sorted by name, and other extensions are skipped).
func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.yaml", "a.yml", "c.json", "d.txt", "below/e.yaml"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(`{"metadata": {"name": "`+name+`"}}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for recursive, want := range map[bool][]string{
		false: {"a.yml", "b.yaml", "c.json"},
		true:  {"a.yml", "b.yaml", "below/e.yaml", "c.json"},
	} {
		docs, errs := manifest.Read([]string{dir}, recursive, nil)
		var got []string
		for _, d := range docs {
			got = append(got, d.Name())
		}
		if diff := cmp.Diff(want, got); diff != "" || len(errs) > 0 {
			t.Errorf("recursive %t: %v (-want +got):\n%s", recursive, errs, diff)
		}
	}
}

// JSON has escapes that YAML does not have.
func TestReadParsesJSONAsJSON(t *testing.T) {
	const escaped = "{\n  \"kind\": \"A\",\n  \"emoji\": \"\\ud83d\\ude00 \\\\ud83d \\/\",\n\t\"metadata\": {\"name\": \"n\"}\n}\n"
	docs, errs := manifest.Read([]string{manifest.Stdin}, false, strings.NewReader(escaped))
	if len(errs) > 0 || len(docs) != 1 {
		t.Fatalf("%d documents, %v", len(docs), errs)
	}
	if got := docs[0].Object["emoji"]; got != "😀 \\ud83d /" {
		t.Errorf("%q", got)
	}
	_, errs = manifest.Read([]string{manifest.Stdin}, false, strings.NewReader(`{"kind": "A", "kind": "B"}`))
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), `stdin:1: not JSON: duplicate field "kind"`) {
		t.Errorf("a name that stands twice: %v", errs)
	}
	withLines := "{\n  \"kind\": \"A\",\n  \"spec\": {\"e\": \"\\ud83d\\ude00\",\n    \"x\": 1}\n}\n"
	docs, errs = manifest.Read([]string{manifest.Stdin}, false, strings.NewReader(withLines))
	if len(errs) > 0 || docs[0].LineOf("spec.x") != 4 {
		t.Errorf("line %d, %v", docs[0].LineOf("spec.x"), errs)
	}
}

// Proves: R63 (documents that are too deep or expand too far are rejected with a reason).
func TestReadRejectsTooLargeInput(t *testing.T) {
	bomb := "a: &a [" + strings.Repeat("x, ", 9) + "x]\n"
	for name := 'b'; name <= 'k'; name++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", name, name, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", name-1), 10), ", "))
	}
	for text, want := range map[string]string{
		strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200): "too large: more than",
		"a:\n  " + strings.Repeat("- ", 200) + "x\n":                  "too large: more than",
		strings.Repeat("[", 20_000):                                   "not YAML",
		bomb:                                                          "too large: more than 500000 values",
		"a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a, ", 100) + "*a]\n": "too large: more than 16777216 bytes",
		"a: [" + strings.Repeat("0,", 500_000) + "0]\n":                                          "too large: more than 500000 values",
		`{"a":[` + strings.Repeat("0,", 500_000) + `0]}`:                                         "too large: more than 500000 values",
		"a: &a [*a]\n":                      "levels of nesting",
		"a: " + strings.Repeat("a", 16<<20): "too large: more than 16777216 bytes",
		strings.Repeat("#\n", 33<<20):       "standard input: too large: more than 67108864 bytes",
	} {
		_, errs := manifest.Read([]string{manifest.Stdin}, false, strings.NewReader(text))
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), want) {
			t.Errorf("%.40s: %v, want %s", text, errs, want)
		}
	}
}
