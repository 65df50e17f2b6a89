// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"regexp"
	"strings"
	"testing"
)

// CodeBlock is a fenced code block of a page.
type CodeBlock struct {
	// Section is the heading above it, Line the number of its first line, Info the text after the fence, such as "yaml",
	// and Text the lines between the fences.
	Section    string
	Line       int
	Info, Text string

	indent string
}

// AllCodeBlocks returns the fenced code blocks of a page, also those in lists, without their indentation.
func AllCodeBlocks(t testing.TB, file string) (found []CodeBlock) {
	t.Helper()
	var open *CodeBlock
	section := ""
	for i, line := range strings.Split(string(ReadFile(t, file)), "\n") {
		trimmed := strings.TrimLeft(line, " ")
		switch indent := line[:len(line)-len(trimmed)]; {
		case open == nil && strings.HasPrefix(trimmed, "```"):
			open = &CodeBlock{Section: section, Line: i + 2, Info: trimmed[3:], indent: indent}
		case open != nil && trimmed == "```" && indent == open.indent:
			found = append(found, *open)
			open = nil
		case open != nil:
			open.Text += strings.TrimPrefix(line, open.indent) + "\n"
		case strings.HasPrefix(line, "#"):
			section = strings.TrimLeft(line, "# ")
		}
	}
	return found
}

// CodeBlocks returns the fenced code blocks of a page that are not in a list.
func CodeBlocks(t testing.TB, file string) (found []CodeBlock) {
	t.Helper()
	for _, b := range AllCodeBlocks(t, file) {
		if b.indent == "" {
			b.Text = strings.TrimSuffix(b.Text, "\n")
			found = append(found, b)
		}
	}
	return found
}

// OutputPattern returns an expression for output as a page shows it: a line "…" matches any lines, and "…" within a
// line any text in it. The width of columns does not matter.
func OutputPattern(shown string) *regexp.Regexp {
	var pattern strings.Builder
	_, _ = pattern.WriteString(`(?s)\A`)
	for line := range strings.Lines(shown) {
		line = strings.TrimSuffix(line, "\n")
		if line == "…" {
			_, _ = pattern.WriteString(`.*`)
			continue
		}
		words := columns.ReplaceAllString(strings.TrimSpace(line), "  ")
		quoted := strings.ReplaceAll(regexp.QuoteMeta(words), "…", `[^\n]*`)
		_, _ = pattern.WriteString(`\s*` + strings.ReplaceAll(quoted, "  ", ` +`) + `[ ]*(\n|\z)`)
	}
	return regexp.MustCompile(pattern.String())
}

// columns matches the space between two columns.
var columns = regexp.MustCompile(` {2,}`)
