// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"strings"
	"testing"
)

// Colors take no width, the last cell of a row does not widen its column, and rows have no trailing blanks.
func TestTableAlignsByDisplayWidth(t *testing.T) {
	var out strings.Builder
	colored := Style{strings.Repeat("A", 26)}.Bad("bb")
	rows := [][]string{{"a", colored, "x"}, {"ccc", "d", ""}, {"a row that is alone"}, {"ü", "é", "y"}}
	if err := Table(&out, 1, rows); err != nil {
		t.Fatal(err)
	}
	if want := " a     " + colored + "   x\n ccc   d\n a row that is alone\n ü     é    y\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestStyleColorsOnlyTerminals(t *testing.T) {
	style := StyleFor(&bytes.Buffer{})
	for _, text := range []string{style.Good("a"), style.Bad("a"), style.Bold("a"), style.Dim("a")} {
		if text != "a" {
			t.Errorf("%q", text)
		}
	}
	if style.OnTerminal() {
		t.Error("a buffer is a terminal")
	}
}
