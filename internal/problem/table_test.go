// SPDX-License-Identifier: Apache-2.0

package problem

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mostReasons bounds the reasons that a reader must learn. Before adding one, merge two that users handle alike.
const mostReasons = 45

// Proves: R74 (exactly the declared reasons are documented, and there are few of them).
func TestEachReasonHasOneRow(t *testing.T) {
	declared := declaredReasons(t)
	if len(declared) > mostReasons {
		t.Errorf("%d reasons, and there may be %d", len(declared), mostReasons)
	}
	var documented []string
	for _, row := range Rows() {
		documented = append(documented, string(row.Reason))
	}
	for _, reason := range declared {
		if !slices.Contains(documented, reason) {
			t.Errorf("reason %s has no row", reason)
		}
	}
	for i, reason := range documented {
		if !slices.Contains(declared, reason) || slices.Contains(documented[:i], reason) {
			t.Errorf("row %s has no constant, or stands twice", reason)
		}
	}
}

func declaredReasons(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "reasons.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Reason" {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil || value != spec.Names[0].Name {
			t.Errorf("constant %s has the value %q: %v", spec.Names[0].Name, value, err)
		}
		reasons = append(reasons, value)
		return true
	})
	if len(reasons) == 0 {
		t.Fatal("no constants found")
	}
	return reasons
}

// Proves: R74 (each row is complete, and its example has a path and an error type).
func TestRowsAreComplete(t *testing.T) {
	name := regexp.MustCompile(`^[A-Z][A-Za-z0-9]+$`)
	conditions := []string{configGenerated, secretsResolved, deploymentUpdated, available}
	for _, row := range Rows() {
		if !name.MatchString(string(row.Reason)) || !slices.Contains([]Class{Terminal, WaitingForDependency, Transient}, row.Class) || len(row.Conditions) == 0 {
			t.Errorf("%s: class %q, conditions %v", row.Reason, row.Class, row.Conditions)
		}
		for _, condition := range row.Conditions {
			if !slices.Contains(conditions, condition) {
				t.Errorf("%s: unknown condition %s", row.Reason, condition)
			}
		}
		for _, text := range []string{row.Meaning, row.Remedy} {
			if !strings.HasSuffix(text, ".") || strings.Contains(text, "|") {
				t.Errorf("%s: %q is not a sentence", row.Reason, text)
			}
		}
		e := row.Example
		// Rejections by the API server have their own error type.
		aboutField := strings.HasPrefix(e.Path, "spec") && row.Class == Terminal && e.Severity != Warning && row.Conditions[0] != deploymentUpdated
		if e.Path == "" || e.Detail+e.Fix == "" || aboutField && e.Type == "" {
			t.Errorf("%s: the example is not complete: %s", row.Reason, e)
		}
	}
}

// An unknown reason is a bug in the operator, but not a crash.
func TestUnknownReasonIsTerminal(t *testing.T) {
	if p := New(Problem{Reason: "NoSuchReason"}); p.Class != Terminal || p.Condition != configGenerated || p.FixedBySpec() {
		t.Errorf("%+v", p)
	}
}
