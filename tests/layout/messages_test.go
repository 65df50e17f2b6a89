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

// searching are the functions of package strings that look for something in a text, or take it apart.
var searching = []string{
	"Contains", "HasPrefix", "HasSuffix", "Cut", "CutPrefix", "CutSuffix", "Index", "LastIndex", "Split", "SplitN", "SplitSeq", "TrimPrefix", "TrimSuffix",
	"ReplaceAll",
}

// texts are the properties of a problem, or of a condition, that are for people.
var texts = []string{"Detail", "Fix", "Message"}

// Proves: R74 (text is made once, at the edge; no code reads a message to learn something).
func TestNoCodeReadsAMessage(t *testing.T) {
	root := filepath.Join("..", "..")
	files := 0
	for _, dir := range []string{"api", "cmd", "internal", "pkg"} {
		for _, path := range productFiles(t, filepath.Join(root, dir)) {
			files++
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && readsMessage(call) {
					t.Errorf("%s reads a message: give the problem a property, and read that", set.Position(call.Pos()))
				}
				return true
			})
		}
	}
	if files < 100 {
		t.Errorf("only %d files found", files)
	}
}

// readsMessage reports whether a call looks for something in a text that is for people.
func readsMessage(call *ast.CallExpr) bool {
	function, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	if of, ok := function.X.(*ast.Ident); !ok || of.Name != "strings" || !slices.Contains(searching, function.Sel.Name) {
		return false
	}
	switch text := call.Args[0].(type) {
	case *ast.SelectorExpr:
		return slices.Contains(texts, text.Sel.Name)
	case *ast.CallExpr: // p.String(), p.Body(), list.Message()
		s, ok := text.Fun.(*ast.SelectorExpr)
		return ok && len(text.Args) == 0 && slices.Contains([]string{"Message", "Body"}, s.Sel.Name)
	}
	return false
}

// The test before finds what it is to find.
func TestReadsMessageFindsReaders(t *testing.T) {
	for code, want := range map[string]bool{
		`strings.Contains(c.Message, "; warning: ")`: true,
		`strings.TrimPrefix(p.Detail, "x")`:          true,
		`strings.HasPrefix(list.Message(), "x")`:     true,
		`strings.HasPrefix(p.Path, "spec.")`:         false,
		`strings.Join(list.Texts(), "; ")`:           false,
		`bytes.Contains(c.Message, nil)`:             false,
	} {
		expression, err := parser.ParseExpr(code)
		if err != nil {
			t.Fatal(err)
		}
		if got := readsMessage(expression.(*ast.CallExpr)); got != want {
			t.Errorf("%s: %v, want %v", strings.TrimSpace(code), got, want)
		}
	}
}
