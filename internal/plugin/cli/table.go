// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// escape matches the color sequences of Style.
var escape = regexp.MustCompile("\x1b[A-Z2-7]{26}\\[[0-9;]*m")

// Table writes rows in aligned columns with an indent. Unlike text/tabwriter, it ignores color sequences.
func Table(w io.Writer, indent int, rows [][]string) error {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if i < len(row)-1 {
				widths[i] = max(widths[i], visible(cell))
			}
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		line.WriteString(strings.Repeat(" ", indent))
		for i, cell := range row {
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-visible(cell)+3))
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func visible(cell string) int {
	return utf8.RuneCountInString(escape.ReplaceAllLiteralString(cell, ""))
}
