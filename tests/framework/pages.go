// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// CodeBlock is a fenced code block of a page.
type CodeBlock struct {
	// Line is the number of its first line, Info the text after the fence, such as "yaml", and Text the lines between the fences.
	Line       int
	Info, Text string
}

var fence = regexp.MustCompile("(?ms)^```([^`\n]*)\n(.*?)\n```$")

// CodeBlocks returns the fenced code blocks of a page.
func CodeBlocks(t testing.TB, file string) []CodeBlock {
	t.Helper()
	content := ReadFile(t, file)
	var found []CodeBlock
	for _, m := range fence.FindAllSubmatchIndex(content, -1) {
		found = append(found, CodeBlock{
			Line: 2 + bytes.Count(content[:m[0]], []byte("\n")), Info: string(content[m[2]:m[3]]), Text: string(content[m[4]:m[5]]),
		})
	}
	return found
}

// OutputPattern returns an expression for output as a page shows it: a line "…" matches any lines, and "…" within a line any text in it.
// The width of columns does not matter.
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
