// SPDX-License-Identifier: Apache-2.0

package layout_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	// maxMethods is how many methods a type may have, and maxLines how long a function may be.
	maxMethods = 25
	maxLines   = 65
	// mostLines is how long nine of ten files may be at most.
	mostLines = 215
)

// productDirs are the directories of what ships.
var productDirs = []string{"api", "cmd", "distributions", "internal", "pkg"}

// A type with many methods is several types; a function that does not fit on a screen is several functions.
func TestCodeStaysInSmallPieces(t *testing.T) {
	methods := map[string]int{}
	functions := 0
	for _, dir := range productDirs {
		for _, path := range productFiles(t, filepath.Join("..", "..", dir)) {
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if ast.IsGenerated(file) {
				continue
			}
			for _, declaration := range file.Decls {
				function, ok := declaration.(*ast.FuncDecl)
				if !ok {
					continue
				}
				functions++
				if lines := set.Position(function.End()).Line - set.Position(function.Pos()).Line + 1; lines > maxLines {
					t.Errorf("%s: %s has %d lines, and may have %d", path, function.Name.Name, lines, maxLines)
				}
				if receiver := receiverOf(function); receiver != "" {
					methods[filepath.Dir(path)+"."+receiver]++
				}
			}
		}
	}
	if functions < 1000 {
		t.Errorf("only %d functions were found", functions)
	}
	for name, count := range methods {
		name = strings.TrimPrefix(filepath.ToSlash(name), "../../")
		if count > maxMethods {
			t.Errorf("%s has %d methods, and may have %d", name, count, maxMethods)
		}
	}
}

// A file that does not fit into a head is several files. One of ten may be longer: tables are.
func TestMostFilesAreShort(t *testing.T) {
	var lengths []int
	for _, dir := range productDirs {
		for _, path := range productFiles(t, filepath.Join("..", "..", dir)) {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(content), "\n// Code generated") && !strings.HasPrefix(filepath.Base(path), "zz_generated") {
				lengths = append(lengths, strings.Count(string(content), "\n"))
			}
		}
	}
	slices.Sort(lengths)
	if len(lengths) < 300 {
		t.Fatalf("only %d files were found", len(lengths))
	}
	if p90 := lengths[len(lengths)*9/10]; p90 > mostLines {
		t.Errorf("one of ten files has more than %d lines, and nine of ten may have %d", p90, mostLines)
	}
}

// productFiles are the Go files below a directory but for tests.
func productFiles(t *testing.T, root string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "testdata":
			return filepath.SkipDir
		case !entry.IsDir() && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// receiverOf is the name of the type that a function is a method of; empty where it is not a method.
func receiverOf(function *ast.FuncDecl) string {
	if function.Recv == nil {
		return ""
	}
	expression := function.Recv.List[0].Type
	if star, ok := expression.(*ast.StarExpr); ok {
		expression = star.X
	}
	if generic, ok := expression.(*ast.IndexExpr); ok {
		expression = generic.X
	}
	if name, ok := expression.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}
