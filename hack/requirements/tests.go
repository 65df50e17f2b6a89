// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

// goTest is the name of a function that "go test" runs.
var goTest = regexp.MustCompile(`^(Test|Fuzz|Benchmark)[A-Z0-9_]`)

// part is a piece of a file: a function that is a test, or a part of one, with the comment before it; or what is in none.
type part struct{ test, text string }

// parts splits a Go file into its tests and the rest of it. Any other file is one part.
func parts(name, content string) ([]part, error) {
	if path.Ext(name) != ".go" {
		return []part{{text: content}}, nil
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, content, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var list []part
	var rest strings.Builder
	done := 0
	for _, decl := range file.Decls {
		function, is := decl.(*ast.FuncDecl)
		if !is || !isProof(function) {
			continue
		}
		begin, end := function.Pos(), files.Position(function.End()).Offset
		if function.Doc != nil {
			begin = function.Doc.Pos()
		}
		at := files.Position(begin).Offset
		rest.WriteString(content[done:at])
		list = append(list, part{function.Name.Name, content[at:end]})
		done = end
	}
	rest.WriteString(content[done:])
	return append(list, part{text: rest.String()}), nil
}

// isProof reports whether a function is a test, or a part of one that says what it proves.
func isProof(f *ast.FuncDecl) bool {
	return f.Recv == nil && goTest.MatchString(f.Name.Name) || f.Doc != nil && strings.Contains(f.Doc.Text(), "Proves:")
}

// proof is a test file that cites an id, and its tests that do, in their order; none where the citation is in no test.
type proof struct {
	file  string
	tests []string
}

// proofs returns which of a file's tests cite which id.
func (l *ledger) proofs(name, content string) (map[string]*proof, error) {
	list, err := parts(name, content)
	if err != nil {
		return nil, err
	}
	found := map[string]*proof{}
	for _, p := range list {
		for _, id := range l.citedBy(p.text) {
			if found[id] == nil {
				found[id] = &proof{file: name}
			}
			if p.test != "" && !slices.Contains(found[id].tests, p.test) {
				found[id].tests = append(found[id].tests, p.test)
			}
		}
	}
	return found, nil
}

func (p *proof) String() string {
	if len(p.tests) == 0 {
		return "`" + p.file + "`"
	}
	return "`" + p.file + "`: " + strings.Join(p.tests, ", ")
}
