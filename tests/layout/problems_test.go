// SPDX-License-Identifier: Apache-2.0

package layout_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every place in the product that makes a problem gives it a reason and a path: every finding names a field, which has its place in the file.
// A problem without any property stands for none.
//
// Proves: R74.
func TestEachProblemIsMadeWithReasonAndPath(t *testing.T) {
	root, found := filepath.Join("..", ".."), 0
	for _, dir := range []string{"api", "cmd", "internal", "pkg"} {
		for _, path := range productFiles(t, filepath.Join(root, dir)) {
			if name := filepath.Base(path); filepath.Base(filepath.Dir(path)) == "problem" && strings.HasPrefix(name, "rows_") {
				continue // the examples of the table: their rows have the reason
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, literal := range problemsMade(file) {
				found++
				if missing := missingProperties(literal); len(missing) > 0 {
					t.Errorf("%s makes a problem without %v", set.Position(literal.Pos()), missing)
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d places that make a problem are found", found)
	}
}

// problemsMade returns the composite literals of problems in a file, those whose type stands at the list around them too.
func problemsMade(file *ast.File) []*ast.CompositeLit {
	var made []*ast.CompositeLit
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		switch {
		case !ok:
		case isOfProblems(file, literal.Type, "Problem") && len(literal.Elts) > 0:
			made = append(made, literal)
		case isOfProblems(file, elementOf(literal.Type), "Problem") || isOfProblems(file, literal.Type, "List"):
			for _, item := range literal.Elts {
				if inner, ok := item.(*ast.CompositeLit); ok && inner.Type == nil {
					made = append(made, inner)
				}
			}
		}
		return true
	})
	return made
}

func elementOf(kind ast.Expr) ast.Expr {
	switch kind := kind.(type) {
	case *ast.ArrayType:
		return kind.Elt
	case *ast.MapType:
		return kind.Value
	}
	return nil
}

// isOfProblems reports whether a type is that of this name in package problem.
func isOfProblems(file *ast.File, kind ast.Expr, name string) bool {
	switch kind := kind.(type) {
	case *ast.Ident:
		return file.Name.Name == "problem" && kind.Name == name
	case *ast.SelectorExpr:
		of, ok := kind.X.(*ast.Ident)
		return ok && of.Name == "problem" && kind.Sel.Name == name
	}
	return false
}

// missingProperties returns what a literal lacks, or sets to nothing.
func missingProperties(literal *ast.CompositeLit) []string {
	missing := []string{"Reason", "Path"}
	for _, item := range literal.Elts {
		property, ok := item.(*ast.KeyValueExpr)
		if !ok {
			return nil // all properties in their order
		}
		if value, isLiteral := property.Value.(*ast.BasicLit); isLiteral && value.Value == `""` {
			continue
		}
		if key, ok := property.Key.(*ast.Ident); ok {
			missing = slices.DeleteFunc(missing, func(name string) bool { return name == key.Name })
		}
	}
	return missing
}
