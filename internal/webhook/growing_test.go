// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// fields calls a function for each growing field of the spec; the same code reads providers of all APIs.
func fields(v reflect.Value, path string, each func(path string, v reflect.Value)) {
	if v.Kind() == reflect.Pointer {
		v = dereference(v)
	}
	switch own := strings.HasSuffix(v.Type().PkgPath(), "api/v1alpha2"); {
	case strings.HasPrefix(path, ".providers."):
		each(".providers", v)
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Map || v.Kind() == reflect.Struct && !own:
		each(path, v)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if name != "" {
				name = "." + name
			}
			fields(v.Field(i), path+name, each)
		}
	}
}

// dereference returns the value of a pointer, or a new zero value if it is nil.
func dereference(v reflect.Value) reflect.Value {
	if v.IsNil() {
		return reflect.New(v.Type().Elem()).Elem()
	}
	return v.Elem()
}

// hasItems reports whether a JSON value has n items or members at any level.
func hasItems(value any, n int) bool {
	within := func(v any) bool { return hasItems(v, n) }
	switch v := value.(type) {
	case []any:
		return len(v) >= n || slices.ContainsFunc(v, within)
	case map[string]any:
		return len(v) >= n || slices.ContainsFunc(slices.Collect(maps.Values(v)), within)
	}
	return false
}

// Proves: R63.
func TestEveryFieldThatGrowsIsMeasured(t *testing.T) {
	const enough = 10
	single := map[string]bool{ // single values: a quantity, a number or a percentage
		".workload.storage.size": true, ".workload.podDisruptionBudget.minAvailable": true, ".workload.podDisruptionBudget.maxUnavailable": true,
	}
	measured := map[string]bool{}
	for name, shape := range growing {
		cr := &v1alpha2.LlamaStackDistribution{}
		if err := json.Unmarshal(repeatItems(shape.spec, shape.item, enough), cr); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		fields(reflect.ValueOf(cr.Spec), "", func(path string, v reflect.Value) {
			var value any
			text, err := json.Marshal(v.Interface())
			if raw, ok := reflect.TypeAssert[apiextensionsv1.JSON](v); ok {
				text, err = raw.Raw, nil
			}
			if err != nil || len(text) > 0 && json.Unmarshal(text, &value) != nil {
				t.Errorf("%s: %s: %v", name, path, err)
			}
			measured[path] = measured[path] || hasItems(value, enough)
		})
	}
	if len(measured) < 20 {
		t.Errorf("only %d fields were found", len(measured))
	}
	for path, found := range measured {
		if !found && !single[path] {
			t.Errorf("the growth of %s is not measured: give it a row", path)
		}
	}
}
