// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
)

// Proves: R53
func TestOptionalSpecFieldsDistinguishAbsentFromEmpty(t *testing.T) {
	t.Parallel()

	visitFields(reflect.TypeFor[LlamaStackDistributionSpec](), func(owner reflect.Type, field reflect.StructField) {
		if _, options, _ := strings.Cut(field.Tag.Get("json"), ","); options == "" { // it is required
			return
		}
		if kind := field.Type.Kind(); kind != reflect.Pointer && kind != reflect.Slice && kind != reflect.Map {
			t.Errorf("%s.%s is optional, but its type %s has no value for absent: use a pointer", owner.Name(), field.Name, field.Type)
		}
	})
}

// Proves: R53
func TestZeroEmptyAndAbsentSurviveDecoding(t *testing.T) {
	t.Parallel()

	for name, spec := range map[string]string{
		"absent": `{"server":{"distribution":{}}}`,
		"zero":   `{"replicas":0,"server":{"distribution":{},"autoscaling":{"maxReplicas":0}},"network":{"exposeRoute":false}}`,
		"empty":  `{"server":{"distribution":{"name":""},"containerSpec":{},"podDisruptionBudget":{},"storage":{"mountPath":""}},"network":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var decoded LlamaStackDistributionSpec
			if err := json.Unmarshal([]byte(spec), &decoded); err != nil {
				t.Fatalf("decode %s: %v", spec, err)
			}
			encoded, err := json.Marshal(decoded)
			if err != nil {
				t.Fatalf("encode: %v", err)
			}
			if diff := cmp.Diff(spec, string(encoded)); diff != "" {
				t.Errorf("the spec changed on the way (- before, + after):\n%s", diff)
			}
		})
	}
}

// Proves: R1
func TestSchemeHasTheKind(t *testing.T) {
	t.Parallel()

	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatalf("AddToScheme: %v", err)
	}
	for _, kind := range []string{"LlamaStackDistribution", "LlamaStackDistributionList"} {
		if !scheme.Recognizes(GroupVersion.WithKind(kind)) {
			t.Errorf("the scheme does not know %s", GroupVersion.WithKind(kind))
		}
	}
}

// visitFields calls visit for each field of a struct and of its nested structs in this package.
func visitFields(structType reflect.Type, visit func(owner reflect.Type, field reflect.StructField)) {
	for field := range structType.Fields() {
		visit(structType, field)
		elem := field.Type
		for elem.Kind() == reflect.Pointer || elem.Kind() == reflect.Slice {
			elem = elem.Elem()
		}
		if elem.Kind() == reflect.Struct && elem.PkgPath() == structType.PkgPath() {
			visitFields(elem, visit)
		}
	}
}
