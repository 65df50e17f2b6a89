// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

const aside = v1alpha2.UnreadableConversionAnnotation

func withAnnotations(tree, annotations map[string]any) map[string]any {
	store(tree, []string{"metadata", "annotations"}, annotations)
	return tree
}

func annotationsOf(tree map[string]any) map[string]any {
	value, _ := lookup(tree, annotationPath[:2])
	annotations, _ := value.(map[string]any)
	return annotations
}

// Proves: R22, R53, MIG-ANN (the annotation holds only necessary values, and is absent without any).
func TestAnnotationHoldsOnlyNecessaryValues(t *testing.T) {
	t.Parallel()

	s := readSchemas(t)
	for name, test := range map[string]struct{ from, spec, want string }{
		"v1alpha1, all of which v1alpha2 can say": {
			"v1alpha1", `{server: {distribution: {name: starter}, containerSpec: {port: 9000}}}`, `{"version":1,"origin":"v1alpha1"}`,
		},
		"v1alpha1 with more": {
			"v1alpha1", `{server: {distribution: {image: "a<b>&c"}, containerSpec: {name: "<main>"}, userConfig: {configMapName: a, configMapNamespace: b}}}`,
			`{"version":1,"origin":"v1alpha1","kept":{"spec.server.containerSpec.name":{"was":"<main>"},` +
				`"spec.server.userConfig":{"was":{"configMapName":"a","configMapNamespace":"b"},"if":{"configMapName":"a"}}}}`,
		},
		"v1alpha2, all of which v1alpha1 can say": {
			"v1alpha2", `{distribution: {name: starter}, workload: {}}`, `{"version":1,"origin":"v1alpha2"}`,
		},
		"v1alpha2 with more": {
			"v1alpha2", `{distribution: {name: starter}, disabled: [eval], networking: {expose: {}}, workload: {}}`,
			`{"version":1,"origin":"v1alpha2","kept":{"spec.disabled":{"was":["eval"]},"spec.networking.expose":{"was":{},"if":true}}}`,
		},
		"v1alpha2 without a section": {
			"v1alpha2", `{distribution: {name: starter}}`, `{"version":1,"origin":"v1alpha2","kept":{"spec.workload":{"if":{}}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			original := object(t, `{apiVersion: llamastack.io/`+test.from+`, metadata: {name: x, annotations: {a: b}}, spec: `+test.spec+`}`)
			there, back := ToV1alpha2, FromV1alpha2
			if test.from == "v1alpha2" {
				there, back = back, there
				s.defaultHub(original)
			} else {
				s.defaultSpoke(original)
			}
			converted := there(original)
			want := map[string]any{"a": "b", v1alpha2.ConversionAnnotation: test.want}
			if diff := cmp.Diff(want, annotationsOf(converted)); diff != "" {
				t.Errorf("the annotations (- want, + got):\n%s", diff)
			}
			if diff := cmp.Diff(original, back(converted)); diff != "" {
				t.Errorf("after the way back (- want, + got):\n%s", diff)
			}
		})
	}
}

// Proves: R22, R53, MIG-ANN, L-26.
func TestUnreadableAnnotationsAreSetAside(t *testing.T) {
	t.Parallel()

	const own = `{"version":1,"origin":"v1alpha2"}`
	const readable = `{"version":1,"origin":"v1alpha2","kept":{"spec.disabled":{"was":["eval"]}}}`
	for name, test := range map[string]struct {
		value any
		// want is the spec in v1alpha2.
		want string
		// kept reports whether the value moves to the annotation for unreadable records.
		kept bool
	}{
		"no JSON":                 {`{"version":1,`, `{distribution: {}, workload: {replicas: 2}}`, true},
		"empty":                   {``, `{distribution: {}, workload: {replicas: 2}}`, false},
		"another type":            {`[1,2]`, `{distribution: {}, workload: {replicas: 2}}`, true},
		"null":                    {`null`, `{distribution: {}, workload: {replicas: 2}}`, true},
		"no version":              {`{"kept":{"spec.disabled":{"was":["eval"]}}}`, `{distribution: {}, workload: {replicas: 2}}`, true},
		"a newer version":         {`{"version":2,"kept":{"spec.disabled":{"was":["eval"]}}}`, `{distribution: {}, workload: {replicas: 2}}`, true},
		"a newer member":          {`{"version":1,"also":true}`, `{distribution: {}, workload: {replicas: 2}}`, true},
		"an unknown origin":       {`{"version":1,"origin":"v2"}`, `{distribution: {}, workload: {replicas: 2}}`, true},
		"a version of wrong type": {`{"version":"1"}`, `{distribution: {}, workload: {replicas: 2}}`, true},
		"repeated members":        {`{"version":1,"version":1}`, `{distribution: {}, workload: {replicas: 2}}`, true},
		"deeply nested":           {strings.Repeat("[", 100_000), `{distribution: {}, workload: {replicas: 2}}`, true},
		"larger than can be":      {`{"version":1}` + strings.Repeat(" ", annotationsLimit), `{distribution: {}, workload: {replicas: 2}}`, false},
		"as large as can be":      {readable + strings.Repeat(" ", annotationsLimit-len(readable)), `{distribution: {}, disabled: [eval], workload: {replicas: 2}}`, false},
		"no string":               {int64(7), `{distribution: {}, workload: {replicas: 2}}`, false},
		"an unknown path beside a known one": {
			`{"version":1,"kept":{"spec.disabled":{"was":["eval"]},"spec.nothing":{"was":1}}}`,
			`{distribution: {}, disabled: [eval], workload: {replicas: 2}}`, true,
		},
		"a path of the status": {
			`{"version":1,"kept":{"status":{"was":{"phase":"Ready"}},"status.phase":{"was":"Ready"}}}`, `{distribution: {}, workload: {replicas: 2}}`, true,
		},
		"a path of the metadata": {
			`{"version":1,"kept":{"metadata.name":{"was":"other"}}}`, `{distribution: {}, workload: {replicas: 2}}`, true,
		},
		"a path of this version": {
			`{"version":1,"kept":{"spec.server.containerSpec.name":{"was":"main"}}}`, `{distribution: {}, workload: {replicas: 2}}`, true,
		},
		"a value of the wrong type beside a right one": {
			`{"version":1,"kept":{"spec.disabled":{"was":"eval"},"spec.resources":{"was":{"models":["m"]}}}}`,
			`{distribution: {}, resources: {models: [m]}, workload: {replicas: 2}}`, true,
		},
		"a value with an unknown member": {
			`{"version":1,"kept":{"spec.storage":{"was":{"kw":{}}}}}`, `{distribution: {}, workload: {replicas: 2}}`, true,
		},
		"a section that is none": {
			`{"version":1,"kept":{"spec.networking":{"was":{"port":1}}}}`, `{distribution: {}, workload: {replicas: 2}}`, true,
		},
		"a readable one": {
			readable, `{distribution: {}, disabled: [eval], workload: {replicas: 2}}`, false,
		},
		"a kept absence": {
			`{"version":1,"origin":"v1alpha2","kept":{"spec.workload.replicas":{"if":2}}}`, `{distribution: {}, workload: {replicas: 1}}`, false,
		},
		"a kept value that was edited": {
			`{"version":1,"origin":"v1alpha2","kept":{"spec.workload.replicas":{"was":5,"if":3}}}`, `{distribution: {}, workload: {replicas: 2}}`, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			original := object(t, `{apiVersion: llamastack.io/v1alpha1, metadata: {name: x}, spec: {replicas: 2, server: {distribution: {}}}}`)
			withAnnotations(original, map[string]any{v1alpha2.ConversionAnnotation: test.value, "other": "stays"})
			converted := ToV1alpha2(original)
			if diff := cmp.Diff(object(t, test.want), converted["spec"]); diff != "" {
				t.Errorf("the spec (- want, + got):\n%s", diff)
			}
			if _, found := converted["status"]; found {
				t.Error("an annotation made a status")
			}
			annotations := annotationsOf(converted)
			if annotations["other"] != "stays" {
				t.Error("another annotation is gone")
			}
			if got := annotations[aside]; test.kept != (got == test.value) {
				t.Errorf("set aside: %v, want %t", got, test.kept)
			}

			// The value also stays there in further conversions.
			again := ToV1alpha2(FromV1alpha2(converted))
			if diff := cmp.Diff(converted, again); diff != "" {
				t.Errorf("after another way there and back (- before, + after):\n%s", diff)
			}
		})
	}

	t.Run("the other key is taken", func(t *testing.T) {
		t.Parallel()

		original := object(t, `{apiVersion: llamastack.io/v1alpha2, metadata: {name: x}, spec: {distribution: {}, workload: {}}}`)
		withAnnotations(original, map[string]any{v1alpha2.ConversionAnnotation: "third", aside: "first", aside + "-2": "second"})
		want := map[string]any{v1alpha2.ConversionAnnotation: own, aside: "first", aside + "-2": "second", aside + "-3": "third"}
		if diff := cmp.Diff(want, annotationsOf(FromV1alpha2(original))); diff != "" {
			t.Errorf("the annotations (- want, + got):\n%s", diff)
		}
	})
	t.Run("the value stands there already", func(t *testing.T) {
		t.Parallel()

		original := object(t, `{apiVersion: llamastack.io/v1alpha2, metadata: {name: x}, spec: {distribution: {}, workload: {}}}`)
		withAnnotations(original, map[string]any{v1alpha2.ConversionAnnotation: "same", aside: "same"})
		want := map[string]any{v1alpha2.ConversionAnnotation: own, aside: "same"}
		if diff := cmp.Diff(want, annotationsOf(FromV1alpha2(original))); diff != "" {
			t.Errorf("the annotations (- want, + got):\n%s", diff)
		}
	})
}

// The size of a kept value includes the value that plain conversion produces instead.
//
// Proves: R53, L-26.
func TestTheLargestKeptValueIsLostFirst(t *testing.T) {
	t.Parallel()

	record := &v1alpha2.ConversionRecord{Version: 1, Kept: map[string]v1alpha2.KeptValue{
		"spec.a": {Was: []byte(`"0123456789"`)}, "spec.b": {Was: []byte(`1`), If: []byte(`"0123456789abcdef"`)},
		"spec.c": {Was: []byte(`"01234567"`), If: []byte(`1`)},
	}}
	for _, want := range []string{
		`{"version":1,"kept":{"spec.a":{"was":"0123456789"},"spec.c":{"was":"01234567","if":1}},"lost":["spec.b"]}`,
		`{"version":1,"kept":{"spec.c":{"was":"01234567","if":1}},"lost":["spec.a","spec.b"]}`,
		`{"version":1,"lost":["spec.a","spec.b","spec.c"]}`,
	} {
		for range 20 { // maps have no order
			if got := encodeWithin(record, annotationSize(want)); got != want {
				t.Fatalf("with room for %d bytes: %s, want %s", annotationSize(want), got, want)
			}
		}
	}
}

// Proves: R53, L-26 (the API server rejects conversion responses with larger annotations, and then every list fails).
func TestAnnotationsStayBelowTheLimit(t *testing.T) {
	t.Parallel()

	const spec = `{apiVersion: llamastack.io/v1alpha2, metadata: {name: x}, spec: {distribution: {name: starter}, workload: {}, disabled: [eval]}}`
	large := map[string]any{"inference": map[string]any{"settings": map[string]any{"text": strings.Repeat("x", annotationsLimit)}}}

	for name, test := range map[string]struct {
		annotations map[string]any
		providers   any
		want        string
	}{
		"there is room": {
			nil, map[string]any{"inference": true},
			`{"version":1,"origin":"v1alpha2","kept":{"spec.disabled":{"was":["eval"]},"spec.providers":{"was":{"inference":true}}}}`,
		},
		"the largest value is left out and named": {
			nil, large, `{"version":1,"origin":"v1alpha2","kept":{"spec.disabled":{"was":["eval"]}},"lost":["spec.providers"]}`,
		},
		"room for names only": {
			map[string]any{"user": strings.Repeat("x", annotationsLimit-112)}, large,
			`{"version":1,"origin":"v1alpha2","lost":["spec.disabled","spec.providers"]}`,
		},
		"room for the origin only": {
			map[string]any{"user": strings.Repeat("x", annotationsLimit-65)}, large, `{"version":1,"origin":"v1alpha2"}`,
		},
		"no room at all": {
			map[string]any{"user": strings.Repeat("x", annotationsLimit-4)}, large, ``,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			original := object(t, spec)
			store(original, []string{"spec", "providers"}, test.providers)
			if test.annotations != nil {
				withAnnotations(original, maps.Clone(test.annotations))
			}
			converted := FromV1alpha2(original)
			annotations := annotationsOf(converted)
			if room := remainingBytes(annotations); room < 0 {
				t.Errorf("the annotations are %d bytes too large", -room)
			}
			text, _ := annotations[v1alpha2.ConversionAnnotation].(string)
			if diff := cmp.Diff(test.want, text); diff != "" {
				t.Errorf("the annotation (- want, + got):\n%s", diff)
			}
		})
	}

	t.Run("an unreadable value has to fit too", func(t *testing.T) {
		t.Parallel()

		original := object(t, spec)
		remove(original, []string{"spec", "disabled"})
		withAnnotations(original, map[string]any{v1alpha2.ConversionAnnotation: strings.Repeat("x", annotationsLimit-len(v1alpha2.ConversionAnnotation))})
		want := map[string]any{v1alpha2.ConversionAnnotation: `{"version":1,"origin":"v1alpha2","lost":["metadata.annotations"]}`}
		if diff := cmp.Diff(want, annotationsOf(FromV1alpha2(original))); diff != "" {
			t.Errorf("the annotations (- want, + got):\n%s", diff)
		}
	})

	t.Run("an unreadable value is kept where it just fits", func(t *testing.T) {
		t.Parallel()

		const unreadable, record = "broken", `{"version":1,"origin":"v1alpha2"}`
		taken := len("user") + len(v1alpha2.UnreadableConversionAnnotation) + len(unreadable) + annotationSize(record)
		for more, want := range map[int]map[string]string{
			0: {v1alpha2.UnreadableConversionAnnotation: unreadable, v1alpha2.ConversionAnnotation: record},
			1: {v1alpha2.ConversionAnnotation: `{"version":1,"origin":"v1alpha2","lost":["metadata.annotations"]}`},
		} {
			original := object(t, spec)
			remove(original, []string{"spec", "disabled"})
			user := strings.Repeat("x", annotationsLimit-taken+more)
			withAnnotations(original, map[string]any{v1alpha2.ConversionAnnotation: unreadable, "user": user})
			got := map[string]string{}
			for key, value := range annotationsOf(FromV1alpha2(original)) {
				if key != "user" {
					got[key], _ = value.(string)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("with %d bytes too few, the annotations (- want, + got):\n%s", more, diff)
			}
		}
	})

	t.Run("a lost field stays recorded until it is set", func(t *testing.T) {
		t.Parallel()

		original := object(t, spec)
		store(original, []string{"spec", "providers"}, large)
		stored := ToV1alpha2(FromV1alpha2(original))
		text, _ := annotationsOf(stored)[v1alpha2.ConversionAnnotation].(string)
		if diff := cmp.Diff(`{"version":1,"lost":["spec.providers"]}`, text); diff != "" {
			t.Errorf("after a write through v1alpha1 (- want, + got):\n%s", diff)
		}
		store(stored, []string{"spec", "providers"}, map[string]any{})
		stored = ToV1alpha2(FromV1alpha2(stored))
		if text, found := annotationsOf(stored)[v1alpha2.ConversionAnnotation]; found {
			t.Errorf("the annotation still says %v", text)
		}
	})
}
