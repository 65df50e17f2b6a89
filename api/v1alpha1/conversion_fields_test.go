// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// leaves adds the fields below typ, with their types, except for structs of the API itself.
func leaves(typ reflect.Type, path string, into map[string]string) {
	suffix := ""
	for typ.Kind() == reflect.Pointer || (typ.Kind() == reflect.Slice && typ != reflect.TypeFor[apiextensionsv1.JSON]()) {
		if typ.Kind() == reflect.Slice {
			suffix += "[]"
		}
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || !strings.HasPrefix(typ.PkgPath(), "github.com/llamastack/") {
		// String types of the API count as strings.
		name := typ.String()
		if typ.Kind() == reflect.String {
			name = "string"
		}
		into[path+suffix] = name
		return
	}
	for field := range typ.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		leaves(field.Type, path+suffix+"."+name, into)
	}
}

func leavesOf(root reflect.Type) map[string]string {
	found := map[string]string{}
	leaves(memberType(root, "spec"), "spec", found)
	leaves(memberType(root, "status"), "status", found)
	return found
}

// within returns the leaves at or below path, keyed by the rest of their path.
func within(all map[string]string, path string) map[string]string {
	found := map[string]string{}
	for leaf, typ := range all {
		if rest, ok := strings.CutPrefix(leaf, path); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			found[rest] = typ
		}
	}
	return found
}

// Proves: FR-083, MIG-MAP, R22 (fieldMappings covers both versions, and unchanged fields have equal types).
func TestEveryFieldIsInTheTable(t *testing.T) {
	t.Parallel()

	ofSpoke, ofHub := leavesOf(reflect.TypeFor[LlamaStackDistribution]()), leavesOf(reflect.TypeFor[v1alpha2.LlamaStackDistribution]())
	missingSpoke, missingHub := maps.Clone(ofSpoke), maps.Clone(ofHub)
	for _, mapping := range fieldMappings {
		inSpoke, inHub := within(ofSpoke, mapping.spoke), within(ofHub, mapping.hub)
		for rest := range inSpoke {
			delete(missingSpoke, mapping.spoke+rest)
		}
		for rest := range inHub {
			delete(missingHub, mapping.hub+rest)
		}
		if mapping.spoke != "" && len(inSpoke) == 0 {
			t.Errorf("the table names %s, which v1alpha1 does not have", mapping.spoke)
		}
		if mapping.hub != "" && len(inHub) == 0 {
			t.Errorf("the table names %s, which v1alpha2 does not have", mapping.hub)
		}
		if mapping.spoke != "" && mapping.hub != "" && mapping.toSpoke == nil {
			if diff := gocmp.Diff(inSpoke, inHub); diff != "" {
				t.Errorf("%s travels to %s as it is, but their types differ (- v1alpha1, + v1alpha2):\n%s", mapping.spoke, mapping.hub, diff)
			}
		}
	}
	if len(missingSpoke) > 0 {
		t.Errorf("the table does not say what becomes of these fields of v1alpha1: %v", slices.Sorted(maps.Keys(missingSpoke)))
	}
	if len(missingHub) > 0 {
		t.Errorf("the table does not say what becomes of these fields of v1alpha2: %v", slices.Sorted(maps.Keys(missingHub)))
	}
	for _, s := range []versionSchema{spoke, hub} {
		for _, u := range s.units {
			if u.goType == nil {
				t.Errorf("%s has no field %s", s.version, u.name)
			}
		}
	}
}

// Proves: R4, EC-3.
func TestExposedMatchesParser(t *testing.T) {
	t.Parallel()

	for seed := range uint64(500) {
		value := hubShapes["spec.networking.expose"](newGenerator(seed))
		if seed%2 == 0 {
			value = newGenerator(seed).openJSON(0)
		}
		parsed, errs := parse.ExposeField(&apiextensionsv1.JSON{Raw: encode(value)})
		if len(errs) == 0 && parsed.Enabled != isExposed(value) {
			t.Errorf("%s: exposed %t, ParseExpose says %t", encode(value), isExposed(value), parsed.Enabled)
		}
	}
}

// Proves: FR-080.
func TestConvertAcceptsBothVersions(t *testing.T) {
	t.Parallel()

	const v1, v2 = "llamastack.io/v1alpha1", "llamastack.io/v1alpha2"
	for _, test := range []struct{ from, to string }{{v1, v2}, {v2, v1}, {v1, v1}, {v2, v2}} {
		original := object(t, `{apiVersion: `+test.from+`, kind: LlamaStackDistribution, metadata: {name: x}, spec: {}}`)
		converted, err := Convert(original, test.to)
		if err != nil {
			t.Errorf("%s to %s: %v", test.from, test.to, err)
			continue
		}
		if converted["apiVersion"] != test.to || converted["kind"] != "LlamaStackDistribution" {
			t.Errorf("%s to %s is %v %v", test.from, test.to, converted["apiVersion"], converted["kind"])
		}
	}
	for _, test := range []struct{ from, to string }{{"v1", v2}, {v1, "llamastack.io/v1"}, {"", v1}, {"other.io/v1alpha1", "other.io/v1alpha1"}} {
		if _, err := Convert(map[string]any{"apiVersion": test.from}, test.to); err == nil || !strings.Contains(err.Error(), v1) {
			t.Errorf("%q to %q: error %v, want one that names the versions", test.from, test.to, err)
		}
	}
	if _, err := Convert(nil, v1); err == nil {
		t.Error("nothing was converted without an error")
	}
}

// A number may be decoded as an integer or as a float.
func TestSameComparesNumbersByValue(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		a, b any
		want bool
	}{
		{int64(1), 1.0, true}, {1.0, int64(1), true}, {int64(1), 1.5, false}, {1.5, int64(1), false}, {1.5, 1.5, true}, {int64(1), int64(2), false},
		{int64(1), "1", false}, {[]any{int64(1)}, []any{1.0}, true}, {map[string]any{"a": 1.0}, map[string]any{"a": int64(1)}, true},
	} {
		if got := equal(c.a, c.b); got != c.want {
			t.Errorf("%v and %v: the same %t", c.a, c.b, got)
		}
	}
}

// Proves: R41 (with a field that only v1alpha2 has, an object no longer counts as v1alpha1).
func TestEveryV1alpha2FieldEndsV1alpha1Origin(t *testing.T) {
	t.Parallel()

	values := map[string]string{ // for fields that have no value if they are an empty object
		"spec.networking.tls.enabled": "true", "spec.networking.tls.secretName": "own", "spec.disabled": "[eval]", "spec.workload.rollback": "Never", "spec.networking.tls.caBundles": "[{configMapName: c}]",
		"spec.workload.imagePullSecrets": "[{name: registry}]", "spec.workload.resourceClaims": "[{name: gpu}]",
		"spec.workload.overrides.envFrom": "[{configMapRef: {name: c}}]", "spec.workload.startupTimeoutSeconds": "60",
		"spec.workload.overrides.sidecars": "[{name: a}]", "spec.workload.overrides.initContainers": "[{name: a}]",
	}
	for _, mapping := range fieldMappings {
		if mapping.spoke != "" {
			continue
		}
		text := cmp.Or(values[mapping.hub], "{}")
		for _, name := range slices.Backward(strings.Split(mapping.hub, ".")) {
			text = "{" + name + ": " + text + "}"
		}
		obj := &v1alpha2.LlamaStackDistribution{}
		if err := yaml.UnmarshalStrict([]byte(text), obj); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		obj.Annotations = map[string]string{v1alpha2.ConversionAnnotation: `{"version":1,"origin":"v1alpha1"}`}
		if v1alpha2.Legacy(obj).FromV1alpha1 {
			t.Errorf("with %s it still counts as of v1alpha1", mapping.hub)
		}
		obj.Spec = v1alpha2.LlamaStackDistributionSpec{}
		if !v1alpha2.Legacy(obj).FromV1alpha1 {
			t.Errorf("without %s it does not count as of v1alpha1", mapping.hub)
		}
	}
}
