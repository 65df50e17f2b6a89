// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/parse"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// The sentences are about the fields that package parse reads: all of them, and no others.
func TestOpenFieldsAreThoseThatAreParsed(t *testing.T) {
	parsed := map[string]reflect.Type{
		"models": reflect.TypeFor[parse.Model](), "tools": reflect.TypeFor[parse.Tool](), "shields": reflect.TypeFor[parse.Shield](),
		"expose": reflect.TypeFor[parse.Expose](),
	}
	for _, open := range openFields {
		last := open.path[len(open.path)-1]
		fields := len(parse.ProviderFields())
		if of, known := parsed[last]; known {
			fields = 0
			for field := range of.Fields() {
				if field.Name != "Path" {
					fields++
				}
			}
		}
		if len(open.fields) != fields {
			t.Errorf("%v: %d sentences for %d fields", open.path, len(open.fields), fields)
		}
		for _, f := range open.fields {
			if isUnknown(t, open.path, f.name) {
				t.Errorf("%v: package parse knows no field %s", open.path, f.name)
			}
		}
		if !isUnknown(t, open.path, "nobodysWish") {
			t.Errorf("%v: an unknown field is not found", open.path)
		}
	}
}

// isUnknown reports whether package parse refuses the name of a field in an object at a path.
func isUnknown(t *testing.T, path []string, name string) bool {
	t.Helper()
	var value any = map[string]any{name: map[string]any{}}
	if path[1] == "resources" {
		value = []any{value}
	}
	for i := len(path) - 1; i >= 1; i-- {
		value = map[string]any{path[i]: value}
	}
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	spec := &v1alpha2.LlamaStackDistributionSpec{}
	if err := json.Unmarshal(raw, spec); err != nil {
		t.Fatal(err)
	}
	result := parse.Parse(spec)
	for _, p := range append(result.Problems, result.ExposeProblems...) {
		if p.Reason == problem.UnknownField && strings.HasSuffix(p.Path, "."+name) {
			return true
		}
	}
	return false
}
