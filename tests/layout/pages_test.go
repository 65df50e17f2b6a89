// SPDX-License-Identifier: Apache-2.0

package layout_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	namedTest    = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w+`)
	namedTarget  = regexp.MustCompile("`make ([a-z][a-z0-9-]*)")
	declaredTest = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Z]\w+)\(`)
)

// examples are names that only show what a name looks like.
const examples = "TestName TestBuildRejectsDuplicateProviderIDs"

// A page that says how something is tested, such as docs/security.md, names tests and targets of make that are there: the name of a test, or, for -run, its
// beginning.
func TestPagesNameTestsAndTargetsThatExist(t *testing.T) {
	root := filepath.Join("..", "..")
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declaredTest.FindAllSubmatch(text, -1) {
			_, _ = tests.WriteString("\n" + string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, page := range append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md"), filepath.Join(root, "SECURITY.md")) {
		if filepath.Base(page) == "requirements.md" { // which is generated from the tests
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, test := range namedTest.FindAllString(string(text), -1) {
			named[test] = true
			if !strings.Contains(tests.String(), "\n"+test) && !strings.Contains(examples, test) {
				t.Errorf("%s names %s, which nobody declares", page, test)
			}
		}
		for _, m := range namedTarget.FindAllStringSubmatch(string(text), -1) {
			named["make "+m[1]] = true
			if !strings.Contains("\n"+string(makefile), "\n"+m[1]+":") {
				t.Errorf("%s names make %s, which is not a target", page, m[1])
			}
		}
	}
	if len(named) < 40 {
		t.Errorf("only %d names were found", len(named))
	}
}
