// SPDX-License-Identifier: Apache-2.0

package layout_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
)

// namesNewest are the tests that may name the newest release line, and why.
var namesNewest = map[string]string{
	"pkg/config/catalog/catalog_test.go":    "what the release line itself changed",
	"pkg/config/release/schema_test.go":     "what the release line itself changed",
	"hack/catalog/catalog_test.go":          "release lines that the test makes up",
	"cmd/kubectl-llamastack/images_test.go": "the pages that it runs name a release",
	"pkg/config/document/scalar_test.go":    "a number, not a version",
	"tests/integration/policy_test.go":      "a number, not a version",
}

// A test that names the newest release line means another one as soon as there is a newer one. Other numbers do not count: a
// literal counts where it is the name alone, a release of the line, or says "line".
func TestNoTestNamesTheNewestLine(t *testing.T) {
	root := filepath.Join("..", "..")
	name := regexp.QuoteMeta(catalog.Newest())
	version := regexp.MustCompile(`^"` + name + `"$|\b` + name + `\.[0-9]|[Ll]ine:? ` + name + `\b`)
	files := 0
	for _, dir := range []string{"api", "cmd", "internal", "pkg", "hack", "tests"} {
		for _, path := range testFiles(t, filepath.Join(root, dir)) {
			files++
			short, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			if namesNewest[filepath.ToSlash(short)] != "" {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING && version.MatchString(literal.Value) {
					t.Errorf("%s names the newest release line: take it from catalog.Newest, or name an older one with the same property", set.Position(literal.Pos()))
				}
				return true
			})
		}
	}
	if files < 100 {
		t.Errorf("only %d files found", files)
	}
}

// testFiles returns the Go files of tests below a directory.
func testFiles(t *testing.T, root string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(path, "_test.go") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}
