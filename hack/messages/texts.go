// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// twoWords is what a text has and a key, a path or a format of values has not.
var twoWords = regexp.MustCompile(`\pL{2,}[.,:;)"'` + "`" + `]* [("'` + "`" + `]*\pL{2,}`)

// notProse are the functions whose literals are code.
var notProse = map[string]bool{"regexp.MustCompile": true, "regexp.Compile": true, "panic": true}

// goTexts returns the texts of a Go file.
func goTexts(content []byte) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", content, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var texts []string
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field: // its tag is code
			return n.Tag == nil
		case *ast.CallExpr:
			return !notProse[name(n.Fun)]
		case *ast.BinaryExpr:
			if text, ok := joined(n); ok {
				texts = append(texts, lines(text)...)
				return false
			}
		case *ast.BasicLit:
			if text, ok := joined(n); ok {
				texts = append(texts, lines(text)...)
			}
		}
		return true
	})
	return texts, nil
}

// name is the name of a function as the source has it; empty for others than a plain or a package's function.
func name(fun ast.Expr) string {
	switch f := fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return name(f.X) + "." + f.Sel.Name
	default:
		return ""
	}
}

// joined returns the text of a literal or of a sum with a literal in it, with … for the other summands.
func joined(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.ParenExpr:
		return joined(e.X)
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		left, leftOK := joined(e.X)
		right, rightOK := joined(e.Y)
		if !leftOK {
			left = "…"
		}
		if !rightOK {
			right = "…"
		}
		return left + right, leftOK || rightOK
	default:
		return "", false
	}
}

// prose returns the rows of a text that are prose.
func lines(text string) []string {
	var prose []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); twoWords.MatchString(line) {
			prose = append(prose, line)
		}
	}
	return prose
}

// yamlMessages returns the values of all keys "message".
func yamlMessages(content []byte) ([]string, error) {
	var tree any
	if err := yaml.Unmarshal(content, &tree); err != nil {
		return nil, err
	}
	var texts []string
	collect(tree, &texts)
	return texts, nil
}

func collect(tree any, texts *[]string) {
	switch node := tree.(type) {
	case map[string]any:
		for _, key := range sortedKeys(node) {
			if text, ok := node[key].(string); ok && key == "message" {
				*texts = append(*texts, lines(text)...)
				continue
			}
			collect(node[key], texts)
		}
	case []any:
		for _, item := range node {
			collect(item, texts)
		}
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
