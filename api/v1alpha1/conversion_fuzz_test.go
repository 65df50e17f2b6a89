// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	kjson "sigs.k8s.io/json"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// Proves: L-26, R22, R53 (any JSON object converts; an object with the version's schema converts without loss).
func FuzzToV1alpha2(f *testing.F) {
	fuzzConversion(f, "llamastack.io/v1alpha1", spoke, ToV1alpha2, FromV1alpha2)
}

// Proves: L-26, R22, R53
func FuzzFromV1alpha2(f *testing.F) {
	fuzzConversion(f, "llamastack.io/v1alpha2", hub, FromV1alpha2, ToV1alpha2)
}

func fuzzConversion(f *testing.F, apiVersion string, source versionSchema, there, back func(map[string]any) map[string]any) {
	f.Helper()
	f.Fuzz(func(t *testing.T, raw []byte) {
		var tree map[string]any
		if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &tree); err != nil || tree == nil {
			return
		}
		tree["apiVersion"] = apiVersion
		converted := there(tree)
		if _, err := json.Marshal(converted); err != nil {
			t.Fatalf("the result is no JSON: %v", err)
		}
		// Only objects and annotations that the API server admits must survive the round trip.
		var typed any = &LlamaStackDistribution{}
		if source.version == v1alpha2.OriginV1alpha2 {
			typed = &v1alpha2.LlamaStackDistribution{}
		}
		strict, err := kjson.UnmarshalStrict(raw, typed)
		if err != nil || len(strict) > 0 || hasNull(tree, source) || remainingBytes(annotationsOf(tree)) < annotationsLimit/2 || len(raw) > annotationsLimit/4 {
			return
		}
		again := back(converted)
		source.setDefaults(tree)
		if !reflect.DeepEqual(tree["spec"], again["spec"]) {
			t.Errorf("the spec changed on the way (- before, + after):\n%s", cmp.Diff(tree["spec"], again["spec"]))
		}
		if !reflect.DeepEqual(tree["status"], again["status"]) {
			t.Errorf("the status changed on the way (- before, + after):\n%s", cmp.Diff(tree["status"], again["status"]))
		}
	})
}

// hasNull reports whether an object of the schema is null, which the API server rejects.
func hasNull(tree map[string]any, s versionSchema) bool {
	for _, section := range s.sections {
		if value, found := lookup(tree, section.path); found && value == nil {
			return true
		}
	}
	return false
}

// Proves: L-26, R53 (no annotation makes conversion fail, adds a status, or makes the spec undecodable).
func FuzzAnnotation(f *testing.F) {
	f.Fuzz(func(t *testing.T, annotation string) {
		object := map[string]any{
			"apiVersion": "llamastack.io/v1alpha1",
			"metadata":   map[string]any{"name": "x", "annotations": map[string]any{v1alpha2.ConversionAnnotation: annotation}},
			"spec":       map[string]any{"replicas": int64(2), "server": map[string]any{"distribution": map[string]any{"name": "starter"}}},
		}
		converted := ToV1alpha2(object)
		raw, err := json.Marshal(converted)
		if err != nil {
			t.Fatalf("the result is no JSON: %v", err)
		}
		var typed v1alpha2.LlamaStackDistribution
		strict, err := kjson.UnmarshalStrict(raw, &typed)
		if err != nil || len(strict) > 0 {
			t.Fatalf("the result does not decode: %v %v\n%s", err, strict, raw)
		}
		if _, found := converted["status"]; found {
			t.Error("the annotation made a status")
		}
		_ = v1alpha2.Legacy(&typed)
		if diff := cmp.Diff(object["spec"], FromV1alpha2(converted)["spec"]); diff != "" {
			t.Errorf("v1alpha1 changed on the way through v1alpha2 (- before, + after):\n%s", diff)
		}
	})
}
