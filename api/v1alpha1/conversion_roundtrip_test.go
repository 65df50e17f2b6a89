// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

var fuzzRounds = framework.Loops(500, 10_000)

// Proves: FR-080, FR-083, MIG-ANN, L-25, L-26, R22, R30, R53, US-7.3
func TestSpokeHubSpokeLosesNothing(t *testing.T) {
	t.Parallel()

	s := readSchemas(t)
	for seed := range uint64(fuzzRounds) {
		original := newGenerator(seed).spokeObject()
		s.defaultSpoke(original)
		before := clone(original)

		stored := ToV1alpha2(original)
		s.defaultHub(stored)
		shown := FromV1alpha2(stored)

		if !reflect.DeepEqual(before, any(original)) {
			t.Fatalf("seed %d: conversion changed its argument (- before, + after):\n%s", seed, cmp.Diff(before, any(original)))
		}
		if !reflect.DeepEqual(original, shown) {
			t.Fatalf("seed %d: v1alpha1 changed on the way through v1alpha2 (- before, + after):\n%s", seed, cmp.Diff(original, shown))
		}
	}
}

// Proves: FR-080, FR-083, MIG-ANN, L-25, L-26, R22, R30, R53, US-7.3
func TestHubSpokeHubLosesNothing(t *testing.T) {
	t.Parallel()

	s := readSchemas(t)
	for seed := range uint64(fuzzRounds) {
		original := newGenerator(seed).hubObject()
		s.defaultHub(original)
		before := clone(original)

		shown := FromV1alpha2(original)
		s.defaultSpoke(shown)
		stored := ToV1alpha2(shown)
		s.defaultHub(stored)

		if !reflect.DeepEqual(before, any(original)) {
			t.Fatalf("seed %d: conversion changed its argument (- before, + after):\n%s", seed, cmp.Diff(before, any(original)))
		}
		if !reflect.DeepEqual(original, stored) {
			t.Fatalf("seed %d: v1alpha2 changed on the way through v1alpha1 (- before, + after):\n%s", seed, cmp.Diff(original, stored))
		}
	}
}

// Proves: FR-080, MIG-ANN, R22, R53 (also with records of other objects, after edits, and of the other direction).
func TestTheSpecSurvivesForeignRecords(t *testing.T) {
	t.Parallel()

	s := readSchemas(t)
	for seed := range uint64(fuzzRounds / 5) {
		g := newGenerator(seed)
		stored, other := g.hubObject(), g.spokeObject()
		s.defaultHub(stored)
		s.defaultSpoke(other)
		foreign := ToV1alpha2(other)
		if g.chance(20) {
			foreign = FromV1alpha2(newGenerator(seed + 1).hubObject())
		}
		annotation, _ := lookup(foreign, annotationPath)
		store(stored, annotationPath, annotation)

		shown := FromV1alpha2(stored)
		s.defaultSpoke(shown)
		again := ToV1alpha2(shown)
		s.defaultHub(again)
		if !reflect.DeepEqual(stored["spec"], again["spec"]) {
			t.Fatalf("seed %d: v1alpha2 changed on the way through v1alpha1 (- before, + after):\n%s", seed, cmp.Diff(stored["spec"], again["spec"]))
		}
		shownAgain := FromV1alpha2(again)
		if !reflect.DeepEqual(shown, shownAgain) {
			t.Fatalf("seed %d: v1alpha1 changed on the way through v1alpha2 (- before, + after):\n%s", seed, cmp.Diff(shown, shownAgain))
		}
	}
}

// Proves: L-26, L-29, R53 (the schemas admit values that the Go types reject or normalize).
func TestValuesThatTheGoTypesWouldNotKeep(t *testing.T) {
	t.Parallel()

	original := object(t, `{apiVersion: llamastack.io/v1alpha1, kind: LlamaStackDistribution, metadata: {name: x}, spec: {replicas: 1, server: {
	  distribution: {name: starter},
	  containerSpec: {name: llama-stack, env: [], command: [], resources: {limits: {cpu: 1000m, memory: 1024Mi}, requests: {cpu: 0.5}}},
	  podDisruptionBudget: {minAvailable: 3000000000}, storage: {size: "1e1.5"}}}}`)
	if diff := cmp.Diff(original, FromV1alpha2(ToV1alpha2(original))); diff != "" {
		t.Errorf("v1alpha1 changed on the way through v1alpha2 (- before, + after):\n%s", diff)
	}
	resources, _ := lookup(ToV1alpha2(original), []string{"spec", "workload", "resources", "limits"})
	if diff := cmp.Diff(object(t, `{cpu: 1000m, memory: 1024Mi}`), resources); diff != "" {
		t.Errorf("the limits in v1alpha2 (- want, + got):\n%s", diff)
	}
}

// Proves: R30, R42, R53 (values without effect, and values that only v1alpha1 admits).
func TestConvertOmitsValuesWithoutEffect(t *testing.T) {
	t.Parallel()

	for _, test := range []struct{ spec, want string }{
		{
			`{server: {distribution: {}, containerSpec: {port: 0}}}`,
			`{distribution: {}}`,
		},
		{
			`{server: {distribution: {}, autoscaling: {minReplicas: 1, maxReplicas: 0}}}`,
			`{distribution: {}}`,
		},
		{
			`{server: {distribution: {}, autoscaling: {minReplicas: 1}}}`,
			`{distribution: {}, workload: {replicas: 1, autoscaling: {minReplicas: 1}}}`,
		},
		{
			`{server: {distribution: {}, userConfig: {configMapName: "", configMapNamespace: a}}}`,
			`{distribution: {}}`,
		},
		{
			`{server: {distribution: {}, tlsConfig: {caBundle: {configMapName: "", configMapKeys: [a]}}}}`,
			`{distribution: {}}`,
		},
		{
			`{server: {distribution: {name: "", image: ""}}}`,
			`{distribution: {name: "", image: ""}}`,
		},
		{
			`{server: {distribution: {}}, network: {exposeRoute: false, allowedFrom: {}}}`,
			`{distribution: {}, networking: {port: 8321, allowedFrom: {}}}`,
		},
		{
			`{replicas: 0, server: {distribution: {}, containerSpec: {port: -1}, podDisruptionBudget: {}}}`,
			`{distribution: {}, networking: {port: -1}, workload: {replicas: 0, podDisruptionBudget: {}}}`,
		},
	} {
		original := object(t, `{apiVersion: llamastack.io/v1alpha1, metadata: {name: x}, spec: `+test.spec+`}`)
		if diff := cmp.Diff(object(t, test.want), ToV1alpha2(original)["spec"]); diff != "" {
			t.Errorf("%s in v1alpha2 (- want, + got):\n%s", test.spec, diff)
		}
	}
}

// Proves: R30 (a missing default would look like an edit).
func TestConvertedObjectsHaveTheirDefaults(t *testing.T) {
	t.Parallel()

	s := readSchemas(t)
	for seed := range uint64(500) {
		inSpoke, inHub := newGenerator(seed).spokeObject(), newGenerator(seed).hubObject()
		s.defaultSpoke(inSpoke)
		s.defaultHub(inHub)
		for version, test := range map[string]struct {
			converted map[string]any
			fillIn    func(map[string]any)
		}{
			"v1alpha2": {ToV1alpha2(inSpoke), s.defaultHub},
			"v1alpha1": {FromV1alpha2(inHub), s.defaultSpoke},
		} {
			before := clone(test.converted)
			test.fillIn(test.converted)
			if diff := cmp.Diff(before, any(test.converted)); diff != "" {
				t.Fatalf("seed %d: defaults are missing in %s (- conversion, + with defaults):\n%s", seed, version, diff)
			}
		}
	}
}

// Proves: L-26 (changes to the result must not change the argument, which may be in a cache).
func TestTheResultSharesNothingWithTheArgument(t *testing.T) {
	t.Parallel()

	for seed := range uint64(200) {
		inSpoke, inHub := newGenerator(seed).spokeObject(), newGenerator(seed).hubObject()
		beforeSpoke, beforeHub := clone(inSpoke), clone(inHub)
		scribble(ToV1alpha2(inSpoke))
		scribble(FromV1alpha2(inHub))
		if !reflect.DeepEqual(beforeSpoke, any(inSpoke)) || !reflect.DeepEqual(beforeHub, any(inHub)) {
			t.Fatalf("seed %d: the result shares a part with the argument", seed)
		}
	}
}

func scribble(tree any) {
	switch tree := tree.(type) {
	case map[string]any:
		for _, value := range tree {
			scribble(value)
		}
		tree["scribbled"] = true
	case []any:
		for i, value := range tree {
			scribble(value)
			tree[i] = "scribbled"
		}
	}
}
