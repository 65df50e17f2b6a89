// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// each writes the text in chunks of at most size bytes.
func each(t *testing.T, w io.Writer, text string, size int) {
	t.Helper()
	for text != "" {
		n := min(size, len(text))
		if written, err := io.WriteString(w, text[:n]); err != nil || written != n {
			t.Fatalf("%d bytes of %d, %v", written, n, err)
		}
		text = text[n:]
	}
}

// Proves: NFR-003 (escape sequences and workflow commands are escaped, however the text is cut).
func TestSafeEscapesControlCharacters(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext\nünïcode 😀\r\n":   "plain\ttext\nünïcode 😀\r\n",
		"a\x1b[2J\x1b]52;c;aGk=\x07b":  `a\x1b[2J\x1b]52;c;aGk=\x07b`,
		"c1 \u009b31m \u009d0;t\u009c": `c1 \u009b31m \u009d0;t\u009c`,
		"8 bit \x9b31m":                `8 bit \x9b31m`,
		"cut \xe2\x82":                 `cut \xe2\x82`,
		"over\rwritten \b\x7f\x00\v\f": `over\x0dwritten \x08\x7f\x00\x0b\x0c`,
		"name\u202egnp.exe \u2067x":    `name\u202egnp.exe \u2067x`,
		"::error::x\n \t::debug::y\n":  "\\x3a:error::x\n \t\\x3a:debug::y\n",
		"\u00a0::error::x":             "\u00a0\\x3a:error::x",
		"\r::error::x\r\n::y":          "\\x0d\\x3a:error::x\r\n\\x3a:y",
		"a ##[set-output name=b]c ##":  `a \x23#[set-output name=b]c ##`,
		"std::move a::b\n:":            "std::move a::b\n:",
		"### title [1]\n#[x":           "### title [1]\n#[x",
		"":                             "",
	} {
		for size := 1; size <= len(text)+1; size++ {
			var out, errs bytes.Buffer
			streams := Safe(Safe(Streams{Out: &out, Err: &errs}))
			each(t, streams.Err, text, size)
			if err := Flush(streams); err != nil || errs.String() != want || out.Len() > 0 {
				t.Errorf("%q in pieces of %d: %q, %v; want %q", text, size, errs.String(), err, want)
			}
		}
	}
}

// Outside of a workflow, the result may contain "::", as C++ code does.
func TestSafeEscapesWorkflowCommandsOnlyInWorkflows(t *testing.T) {
	for workflow, want := range map[string]string{"": "::set-output name=a::b\n", "true": "\\x3a:set-output name=a::b\n"} {
		t.Setenv("GITHUB_ACTIONS", workflow)
		var out bytes.Buffer
		each(t, Safe(Streams{Out: &out}).Out, "::set-output name=a::b\n", 100)
		if out.String() != want {
			t.Errorf("GITHUB_ACTIONS=%q: %q", workflow, out.String())
		}
	}
}

// Proves: NFR-004 (JSON and YAML stay valid and keep their values).
func TestSafeKeepsValuesForPrograms(t *testing.T) {
	t.Setenv("GITHUB_ACTIONS", "true")
	value := map[string]string{"a": "\x1b[2J\u009b\x7f\u0085\r\u202e\n::error::x\n##[debug]\u2028\b<&>", "\x1b": "::error::"}
	for name, c := range map[string]struct {
		print func(io.Writer, any) error
		read  func([]byte, any) error
	}{
		"JSON": {PrintJSON, json.Unmarshal},
		"YAML": {PrintYAML, func(text []byte, into any) error { return yaml.Unmarshal(text, into) }},
	} {
		var out bytes.Buffer
		streams := Safe(Streams{Out: &out})
		if err := c.print(streams.Out, value); err != nil {
			t.Fatal(err)
		}
		read := map[string]string{}
		if err := c.read(out.Bytes(), &read); err != nil || read["a"] != value["a"] || read["\x1b"] != value["\x1b"] {
			t.Errorf("%s: %q, %v from %q", name, read, err, out.String())
		}
		if i := strings.IndexFunc(out.String(), (&safeWriter{machineReadable: true}).isControl); i >= 0 {
			t.Errorf("%s: %q at %d", name, out.String(), i)
		}
	}
}

// The plugin's own sequences begin with a mark that other text lacks.
func TestOnlyOwnEscapeSequencesPass(t *testing.T) {
	for size := 1; size < 200; size += 7 {
		var out bytes.Buffer
		w := &safeWriter{to: &out, mark: strings.Repeat("A", 26)}
		style := StyleFor(w)
		each(t, w, style.Bad("bad \x1b[31m")+style.ClearScreen()+"\x1bA", size)
		if err := w.flush(); err != nil {
			t.Fatal(err)
		}
		if want := "\x1b[31mbad \\x1b[31m\x1b[0m\x1b[H\x1b[2J\\x1bA"; out.String() != want || !style.OnTerminal() {
			t.Errorf("in pieces of %d: %q, want %q", size, out.String(), want)
		}
	}
}

func TestBinaryPasses(t *testing.T) {
	var out bytes.Buffer
	w, err := Binary(Safe(Streams{Out: &out}).Out)
	if err != nil {
		t.Fatal(err)
	}
	each(t, w, "\x1f\x8b\x1b", 3)
	if out.String() != "\x1f\x8b\x1b" {
		t.Errorf("%q", out.String())
	}
}
