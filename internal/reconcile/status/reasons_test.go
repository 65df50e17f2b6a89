// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// checkout is the root of the repository.
const checkout = "../../.."

// Proves: R74 (each reason of the API is documented and used by a condition).
func TestEachReasonOfTheAPIHasOneRow(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), checkout+"/api/v1alpha2/condition_types.go", nil, 0)
	framework.NoError(t, err)
	values := map[string]string{} // by constant name
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "Reason") {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			framework.NoError(t, err)
			values[spec.Names[0].Name] = value
		}
		return true
	})
	if len(values) < 20 {
		t.Fatalf("only %d constants found", len(values))
	}
	used := selectors(t, "v1alpha2", "internal/reconcile/status/reasons.go")
	var documented []string
	for _, row := range status.Reasons() {
		documented = append(documented, row.Reason)
		if !strings.HasSuffix(row.Meaning, ".") || row.Example == "" || row.Remedy != "" && !strings.HasSuffix(row.Remedy, ".") {
			t.Errorf("%s: incomplete: %+v", row.Reason, row)
		}
	}
	for name, value := range values {
		if !slices.Contains(documented, value) {
			t.Errorf("reason %s has no row", value)
		}
		if !used[name] {
			t.Errorf("reason %s is never set", value)
		}
	}
	if len(documented) != len(values) {
		t.Errorf("%d rows for %d reasons: %v", len(documented), len(values), documented)
	}
}

// Proves: R74.
func TestEachReasonOfAProblemIsUsed(t *testing.T) {
	used := selectors(t, "problem", "")
	for _, row := range problem.Rows() {
		// The package itself uses these for parser errors, omitted problems and panics.
		if slices.Contains([]problem.Reason{problem.DuplicateProviderID, problem.MoreProblems, problem.InternalError}, row.Reason) {
			continue
		}
		if name := string(row.Reason); !used[name] {
			t.Errorf("nothing reports %s", name)
		}
	}
}

// selectors returns the names that the product selects of a package and its string literals, except in one file.
func selectors(t *testing.T, of, except string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, dir := range []string{"internal"} {
		err := fs.WalkDir(os.DirFS(checkout), dir, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || name == except {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), checkout+"/"+name, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == of {
						names[n.Sel.Name] = true
					}
				case *ast.BasicLit: // a constant of another package with the same value
					if text, err := strconv.Unquote(n.Value); err == nil && !strings.HasPrefix(name, "internal/problem/") {
						names[text] = true
					}
				}
				return true
			})
			return nil
		})
		framework.NoError(t, err)
	}
	return names
}
