// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const fuzzRounds = 10_000

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

// Proves: FR-080, MIG-ANN, R22, R53 (whatever the annotations say: records of other objects, after edits through the other
// version, of both directions mixed up)
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

// Proves: L-26, L-29, R53 (the schemas admit values that the Go types refuse or respell; conversion does neither)
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
