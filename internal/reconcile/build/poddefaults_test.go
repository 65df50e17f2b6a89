// SPDX-License-Identifier: Apache-2.0

package build

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Proves: R72, R49 (the custom resource stays unchanged, and without defaults nothing changes).
func TestBuildCompletesTheWorkload(t *testing.T) {
	in := inputs(t, "simple")
	before, hash := in.CR.DeepCopy(), hashOf(in)
	in.CompleteWorkload(nil)
	if hashOf(in) != hash {
		t.Error("no defaults change the inputs")
	}
	theirs := in.CR
	in.CompleteWorkload(&settings.PodDefaults{
		Scheduling:                    &v1alpha2.SchedulingSpec{PriorityClassName: new("models"), NodeSelector: map[string]string{"pool": "models"}},
		PodMetadata:                   &v1alpha2.PodMetadataSpec{Labels: map[string]string{"team": "ai"}},
		TerminationGracePeriodSeconds: new(int64(90)),
	})
	if diff := cmp.Diff(before, theirs); diff != "" {
		t.Errorf("the custom resource is changed (-before +after):\n%s", diff)
	}
	if hashOf(in) == hash {
		t.Error("defaults do not change the hash of the inputs: no server would get them")
	}
	template := deployment(t, build(t, in).Objects).Spec.Template
	if s := template.Spec; s.PriorityClassName != "models" || s.NodeSelector["pool"] != "models" || ptr.Deref(s.TerminationGracePeriodSeconds, 0) != 90 {
		t.Errorf("priority class %q, node selector %v, grace period %v", s.PriorityClassName, s.NodeSelector, s.TerminationGracePeriodSeconds)
	}
	if template.Labels["team"] != "ai" || template.Labels["app"] != "llama-stack" {
		t.Errorf("labels %v", template.Labels)
	}
}

// Proves: R72, FR-006.
func TestMissingObjectOfTheDefaultsNamesTheSetting(t *testing.T) {
	in := inputs(t, "simple")
	in.CompleteWorkload(&settings.PodDefaults{Overrides: &settings.OverrideDefaults{EnvFrom: []corev1.EnvFromSource{
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "keys"}}},
	}}})
	for _, ref := range in.ReferencesOfPods() {
		in.PodReferences = append(in.PodReferences, PodReferenceFact{Ref: ref, Lookup: Lookup{State: Missing}})
	}
	_, problems := buildWith(t.Context(), in)
	const want = "operator settings: podDefaults.overrides.envFrom[0].secretRef: Secret not found: keys (namespace ai): create it, or set optional: true there"
	if got := problems.Message(); got != want {
		t.Errorf("reported:\n%s\nwant:\n%s", got, want)
	}
}
