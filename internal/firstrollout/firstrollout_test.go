// SPDX-License-Identifier: Apache-2.0

package firstrollout

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/desired"
	"github.com/llamastack/llama-stack-k8s-operator/internal/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Proves: R69, L-03 (what was built is used again only while nothing but the status of the Deployment, and what its controller notes, has changed).
func TestOnlyTheStatusOfADeploymentMayChange(t *testing.T) {
	before := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		UID: "u", Generation: 1, Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"},
		OwnerReferences: []metav1.OwnerReference{{UID: "o"}},
	}}
	for name, c := range map[string]struct {
		change func(*appsv1.Deployment)
		want   bool
	}{
		"nothing":    {func(*appsv1.Deployment) {}, true},
		"status":     {func(d *appsv1.Deployment) { d.ResourceVersion, d.Status.Replicas = "2", 1 }, true},
		"revision":   {func(d *appsv1.Deployment) { d.Annotations["deployment.kubernetes.io/revision"] = "1" }, true},
		"spec":       {func(d *appsv1.Deployment) { d.Generation = 2 }, false},
		"label":      {func(d *appsv1.Deployment) { d.Labels["a"] = "x" }, false},
		"annotation": {func(d *appsv1.Deployment) { delete(d.Annotations, "c") }, false},
		"owner":      {func(d *appsv1.Deployment) { d.OwnerReferences = nil }, false},
		"another":    {func(d *appsv1.Deployment) { d.UID = "v" }, false},
		"deleted":    {func(d *appsv1.Deployment) { d.DeletionTimestamp = new(metav1.Now()) }, false},
	} {
		now := before.DeepCopy()
		c.change(now)
		if got := isSameButStatus(&before.ObjectMeta, &now.ObjectMeta); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Proves: L-01 (what is remembered of first rollouts is bounded, and goes with the custom resource).
func TestFirstRolloutsAreBounded(t *testing.T) {
	named := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "ns", Name: name} }
	var m Memory
	for i := range 2 * maxRollouts {
		m.put(named(fmt.Sprint(i)), &rollout{})
	}
	if len(m.all) != maxRollouts || m.get(named("0")) == nil {
		t.Errorf("%d are remembered", len(m.all))
	}
	m.Forget(named("0"))
	if m.get(named("0")) != nil {
		t.Error("it was forgotten and is still there")
	}
}

// Proves: R72, L-23 (a first rollout is not remembered where an object was read whose version nobody noted: its next change would be missed).
func TestKeepForgetsWhatWasReadUnnoted(t *testing.T) {
	cr := &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}}
	keys := objects.Reference{Kind: objects.KindSecret, Namespace: "ns", Name: "keys"}
	built := &Built{
		Gathered: &gather.Gathered{Inputs: &desired.Inputs{PodReferences: []desired.PodReferenceFact{{Ref: keys}}}}, Desired: &desired.Desired{}, Deployment: &appsv1.Deployment{},
	}
	for want, versions := range map[bool]Versions{true: {referredBy(&keys): ""}, false: {}} {
		var m Memory
		m.Keep(cr, versions, built)
		if got := m.get(client.ObjectKeyFromObject(cr)) != nil; got != want {
			t.Errorf("with %v: remembered %v", versions, got)
		}
	}
}

// Proves: R81, L-23 (a distribution that is registered meanwhile is noticed, whatever the name of its ConfigMap).
func TestRegisteredDistributionsAreVersions(t *testing.T) {
	cached := fake.NewClientBuilder().Build()
	m := Memory{Applier: &apply.Applier{Cached: cached}, OperatorNamespace: "op"}
	cr := &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}}
	before := m.Begin(t.Context(), cr)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "op", Name: "x", Labels: map[string]string{settings.LabelDistribution: "mine"}}}
	if err := cached.Create(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	if after := m.versions(t.Context(), slices.Collect(maps.Keys(before))); before == nil || maps.Equal(before, after) {
		t.Errorf("before %v, after %v", before, after)
	}
}
