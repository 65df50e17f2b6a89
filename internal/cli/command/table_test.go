// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/cli/command"
)

// Colors take no space, the last cell of a row makes no column wider, and no blanks follow the last cell.
func TestTableAlignsWhatEyesSee(t *testing.T) {
	var out strings.Builder
	rows := [][]string{{"a", "\x1b[31mbb\x1b[0m", "x"}, {"ccc", "d", ""}, {"a row that is alone"}, {"ü", "é", "y"}}
	if err := command.Table(&out, 1, rows); err != nil {
		t.Fatal(err)
	}
	if want := " a     \x1b[31mbb\x1b[0m   x\n ccc   d\n a row that is alone\n ü     é    y\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// Colors are for terminals: neither a buffer nor a pipe gets escape sequences.
func TestStyleColorsNothingButATerminal(t *testing.T) {
	style := command.StyleFor(&bytes.Buffer{})
	for _, text := range []string{style.Good("a"), style.Bad("a"), style.Bold("a"), style.Dim("a")} {
		if text != "a" {
			t.Errorf("%q", text)
		}
	}
	if style.OnTerminal() {
		t.Error("a buffer is a terminal")
	}
}
