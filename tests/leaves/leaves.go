// SPDX-License-Identifier: Apache-2.0

package leaves

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// All returns, by path, a function that sets this field of the spec alone. An empty struct is also a field
// ("spec.workload.storage{}").
func All(t testing.TB) map[string]func(*v1alpha2.LlamaStackDistributionSpec) {
	t.Helper()
	found := map[string]func(*v1alpha2.LlamaStackDistributionSpec){}
	walk(t, reflect.TypeFor[v1alpha2.LlamaStackDistributionSpec](), "spec", nil, found)
	if len(found) < 40 {
		t.Fatalf("only %d fields found", len(found))
	}
	return found
}

func walk(t testing.TB, typ reflect.Type, path string, index []int, found map[string]func(*v1alpha2.LlamaStackDistributionSpec)) {
	t.Helper()
	for i := range typ.NumField() {
		field := typ.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fieldPath, fieldIndex := path+"."+name, append(slices.Clone(index), i)
		if name == "-" { // the fields that the schema does not name: one stands for all
			fieldPath = path + ".files"
		}
		if field.Anonymous {
			walk(t, field.Type, path, fieldIndex, found)
			continue
		}
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if value, ok := example(fieldPath, inner); ok {
			found[fieldPath] = func(spec *v1alpha2.LlamaStackDistributionSpec) { setLeaf(spec, fieldIndex, value) }
			continue
		}
		if inner.Kind() != reflect.Struct || !strings.Contains(inner.PkgPath(), "v1alpha2") {
			t.Fatalf("%s: no example of type %s: write one", fieldPath, inner)
		}
		found[fieldPath+"{}"] = func(spec *v1alpha2.LlamaStackDistributionSpec) { setLeaf(spec, fieldIndex, reflect.Zero(inner)) }
		walk(t, inner, fieldPath, fieldIndex, found)
	}
}

func setLeaf(spec *v1alpha2.LlamaStackDistributionSpec, index []int, value reflect.Value) {
	v := reflect.ValueOf(spec).Elem()
	for _, i := range index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	if v.Kind() == reflect.Pointer {
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(value)
		value = p
	}
	v.Set(value)
}
