// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// Proves: R22, L-03 (a change of the conversion annotation counts, and one of other metadata does not).
func TestSpecChanged(t *testing.T) {
	version := func(generation int64, annotations map[string]string) *v1alpha2.LlamaStackDistribution {
		return &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Generation: generation, Annotations: annotations}}
	}
	old := version(1, map[string]string{v1alpha2.ConversionAnnotation: "a", "other": "a"})
	for name, c := range map[string]struct {
		changed *v1alpha2.LlamaStackDistribution
		want    bool
	}{
		"spec":       {version(2, old.Annotations), true},
		"conversion": {version(1, map[string]string{v1alpha2.ConversionAnnotation: "b", "other": "a"}), true},
		"removed":    {version(1, nil), true},
		"other":      {version(1, map[string]string{v1alpha2.ConversionAnnotation: "a", "other": "b"}), false},
	} {
		if got := specChanged().Update(event.UpdateEvent{ObjectOld: old, ObjectNew: c.changed}); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Proves: R45, R20, L-02 (the ConfigMap is in the resource's namespace or, from v1alpha1, in another).
func TestReferrersOfOverride(t *testing.T) {
	own, foreign, other := referring("ai", "own", ""), referring("ai", "foreign", ""), referring("b", "other", "")
	for _, cr := range []*v1alpha2.LlamaStackDistribution{own, foreign, other} {
		cr.Spec.OverrideConfig = &v1alpha2.OverrideConfigSpec{ConfigMapName: "mine"}
	}
	foreign.Annotations = map[string]string{v1alpha2.ConversionAnnotation: `{"version":1,"kept":{"spec.server.userConfig":` +
		`{"was":{"configMapName":"mine","configMapNamespace":"b"}}}}`}
	r := reconciler(t, own, foreign, other, referring("ai", "none", ""))
	for namespace, want := range map[string][]string{"ai": {"ai/own"}, "b": {"ai/foreign", "b/other"}, "c": {}} {
		cm := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "mine"}}
		if got := texts(r.referrersOf(objects.KindConfigMap)(t.Context(), cm)); !slices.Equal(got, want) {
			t.Errorf("%s: woken %v, want %v", namespace, got, want)
		}
	}
}
