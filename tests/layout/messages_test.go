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
	"ReplaceAll", "SplitAfter", "EqualFold", "ContainsAny", "Count", "Replace",
}

// matching are the methods of a regular expression that look for something in a text.
var matching = []string{"MatchString", "FindString", "FindStringIndex", "FindStringSubmatch", "FindAllString", "FindAllStringSubmatch", "ReplaceAllString"}

// readsForeignText are the files that read a text which is one of a library or of the API server, and why.
var readsForeignText = map[string]string{
	"internal/apply/toolarge.go":        "the API server has no other sign of an object that etcd does not take",
	"internal/apply/dryrun.go":          "the API server has no other sign of a webhook without dry run",
	"internal/apply/unknown.go":         "the API server has no other sign of a field that it does not have",
	"internal/pods/pods.go":             "the kubelet and the scheduler have no other property for what they found",
	"internal/cli/manifest/document.go": "the YAML library names the line in its text alone",
	"internal/events/events.go":         "warnings have no reason of their own in a condition: an Event follows when their text changes",
	"internal/status/conditions.go":     "the API server's text of a refused pod begins with a name that is another one each time",
	"pkg/config/document/base.go":       "the YAML library begins each text with its own name",
}

// texts are the properties of a problem, or of a condition, that are for people.
var texts = []string{"Detail", "Fix", "Message"}

// Proves: R74 (text is made once, at the edge; no code reads a message to learn something).
func TestNoCodeReadsAMessage(t *testing.T) {
	root := filepath.Join("..", "..")
	files, foreign := 0, map[string]bool{}
	for _, dir := range []string{"api", "cmd", "internal", "pkg"} {
		for _, path := range productFiles(t, filepath.Join(root, dir)) {
			files++
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if !reads(n) {
					return true
				}
				short, err := filepath.Rel(root, path)
				if err != nil {
					t.Fatal(err)
				}
				short = filepath.ToSlash(short)
				if readsForeignText[short] == "" {
					t.Errorf("%s reads a message: give the problem a property, and read that", set.Position(n.Pos()))
				}
				foreign[short] = true
				return true
			})
		}
	}
	for path := range readsForeignText {
		if !foreign[path] {
			t.Errorf("%s does not read a foreign text any more", path)
		}
	}
	if files < 100 {
		t.Errorf("only %d files found", files)
	}
}

// reads reports whether an expression reads a text that is for people, or that of an error.
func reads(n ast.Node) bool {
	switch e := n.(type) {
	case *ast.CallExpr:
		return readsMessage(e) || readsError(e)
	case *ast.BinaryExpr:
		return comparesMessage(e)
	}
	return false
}

// comparesMessage reports whether a text that is for people is compared with another one. A comparison with "" asks only whether there
// is a text.
func comparesMessage(e *ast.BinaryExpr) bool {
	if e.Op != token.EQL && e.Op != token.NEQ || isEmptyText(e.X) || isEmptyText(e.Y) {
		return false
	}
	return isMessage(e.X) || isMessage(e.Y) || isString(e.X) && isString(e.Y)
}

func isEmptyText(e ast.Expr) bool {
	text, ok := e.(*ast.BasicLit)
	return ok && text.Value == `""`
}

// isString reports whether an expression is a call of String. One side alone may be a path; two are most likely problems.
func isString(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) > 0 {
		return false
	}
	s, ok := call.Fun.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "String"
}

// readsMessage reports whether a call looks for something in a text that is for people.
func readsMessage(call *ast.CallExpr) bool { return isMessage(searched(call)) }

// isMessage reports whether an expression is a text that is for people.
func isMessage(e ast.Expr) bool {
	switch text := e.(type) {
	case *ast.Ident: // a parameter of that name
		return text.Name == "message"
	case *ast.SelectorExpr:
		return slices.Contains(texts, text.Sel.Name)
	case *ast.CallExpr: // p.Body(), list.Message()
		s, ok := text.Fun.(*ast.SelectorExpr)
		return ok && len(text.Args) == 0 && slices.Contains([]string{"Message", "Body"}, s.Sel.Name)
	}
	return false
}

// readsError reports whether a call looks for something in the text of an error.
func readsError(call *ast.CallExpr) bool {
	text, ok := searched(call).(*ast.CallExpr)
	if !ok || len(text.Args) > 0 {
		return false
	}
	s, ok := text.Fun.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Error"
}

// searched is the text that a call looks for something in; nil where it does not.
func searched(call *ast.CallExpr) ast.Expr {
	function, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return nil
	}
	of, ok := function.X.(*ast.Ident)
	if ok && of.Name == "strings" && slices.Contains(searching, function.Sel.Name) || slices.Contains(matching, function.Sel.Name) {
		return call.Args[0]
	}
	return nil
}

// The test before finds what it is to find.
func TestReadsMessageFindsReaders(t *testing.T) {
	for code, want := range map[string]bool{
		`strings.Contains(c.Message, "; warning: ")`: true,
		`strings.Cut(message, ": ")`:                 true,
		`strings.TrimPrefix(p.Detail, "x")`:          true,
		`strings.HasPrefix(list.Message(), "x")`:     true,
		`words.FindString(p.Body())`:                 true,
		`strings.EqualFold(p.Fix, "x")`:              true,
		`strings.Contains(err.Error(), "x")`:         true,
		`words.MatchString(err.Error())`:             true,
		`fmt.Sprintf(err.Error(), "x")`:              false,
		`strings.HasPrefix(p.Path, "spec.")`:         false,
		`strings.Join(list.Texts(), "; ")`:           false,
		`bytes.Contains(c.Message, nil)`:             false,
		`a.String() == b.String()`:                   true,
		`last.Message != c.Message`:                  true,
		`list.Message() == "x"`:                      true,
		`p.Detail == old.Detail`:                     true,
		`"x" == p.Fix`:                               true,
		`rule.Message != ""`:                         false,
		`p.Path == path.String()`:                    false,
	} {
		expression, err := parser.ParseExpr(code)
		if err != nil {
			t.Fatal(err)
		}
		if got := reads(expression); got != want {
			t.Errorf("%s: %v, want %v", strings.TrimSpace(code), got, want)
		}
	}
}
