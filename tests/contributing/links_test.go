// SPDX-License-Identifier: Apache-2.0

package contributing

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]*)\)`)
	code    = regexp.MustCompile("`[^`\n]*`")
	anchors = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
)

// Proves: NFR-004.
func TestPagesHaveNoDeadLinks(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "specs/*.md", "charts/*/*.md", "hack/*/*.md", "bundle/*.md"} {
		found, err := filepath.Glob(filepath.Join(framework.Root(), pattern))
		framework.NoError(t, err)
		pages = append(pages, found...)
	}
	checked := 0
	for _, page := range pages {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(withoutFences(t, page, false), ""), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			checked++
			file, section, _ := strings.Cut(m[1], "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s: there is no such file", page, m[1])
				continue
			}
			if section != "" && !strings.Contains(withoutFences(t, target, true), "\n#"+section+"\n") {
				t.Errorf("%s: %s: there is no such section", page, m[1])
			}
		}
	}
	if len(pages) < 30 || checked < 200 {
		t.Errorf("only %d links on %d pages are found", checked, len(pages))
	}
}

// withoutFences returns a page without its fenced blocks; with asAnchors, only the anchors of its headings.
func withoutFences(t *testing.T, page string, asAnchors bool) string {
	t.Helper()
	text := framework.ReadFile(t, page)
	kept, fenced := "\n", false
	for line := range strings.Lines(string(text)) {
		title := strings.TrimLeft(line, "#")
		switch isTitle := strings.HasPrefix(title, " ") && title != line; {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			fenced = !fenced
		case fenced:
		case !asAnchors:
			kept += line
		case strings.HasPrefix(line, `<a id="`):
			id, _, _ := strings.Cut(strings.TrimPrefix(line, `<a id="`), `"`)
			kept += "#" + id + "\n"
		case isTitle:
			plain := anchors.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
			kept += "#" + strings.ReplaceAll(plain, " ", "-") + "\n"
		}
	}
	return kept
}
