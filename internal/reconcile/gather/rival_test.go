// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

// Proves: R78, R19 (release 0.9's Deployment is the custom resource's own; another counts as a rival if the Service
// selects its pods).
func TestDeploymentWithoutOwner(t *testing.T) {
	for name, c := range map[string]struct {
		change     func(*appsv1.Deployment)
		own, rival bool
	}{
		"release 0.9's":  {func(*appsv1.Deployment) {}, true, false},
		"another writer": {func(d *appsv1.Deployment) { d.ManagedFields = nil }, false, true},
		"another controller": {func(d *appsv1.Deployment) {
			d.OwnerReferences = []metav1.OwnerReference{{Kind: "Rollout", Name: "x", UID: "x", Controller: new(true)}}
		}, false, true},
		"another selector": {func(d *appsv1.Deployment) { d.Spec.Selector.MatchLabels["app"] = "web" }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
				Namespace: "ai", Name: "my-stack", Labels: map[string]string{names.LabelManagedBy: names.ManagedBy},
				ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "manager", Operation: metav1.ManagedFieldsOperationUpdate,
					APIVersion: "apps/v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`)}},
			}}
			d.Spec.Selector = &metav1.LabelSelector{MatchLabels: names.Selector("my-stack")}
			c.change(d)
			cluster := newCluster(t, d)
			got, faults := newGatherer(cluster, cluster).Gather(t.Context(), resource())
			if len(faults) > 0 || (got.Inputs.Live != nil) != c.own || (got.ForeignDeployment != nil) != c.rival {
				t.Errorf("faults %v, own %v, rival %v", faults, got.Inputs.Live != nil, got.ForeignDeployment != nil)
			}
		})
	}
}

// Proves: R48 (release 0.9's Deployment lacks the operator's label, so it is read live).
func TestDeploymentOutsideTheCache(t *testing.T) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ai", Name: "my-stack",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "llamastack.io/v1alpha1", Kind: "LlamaStackDistribution", Name: "my-stack", UID: "u1", Controller: new(true)}},
	}}
	g := newGatherer(newCluster(t, d), newCluster(t))
	reported, fresh := resource(), resource()
	reported.Status.Phase = v1alpha2.PhaseReady
	if got, faults := g.Gather(t.Context(), reported); got.Inputs.Live == nil {
		t.Errorf("the Deployment was not found, faults %s", faults.Message())
	}

	// Proves: R69 (a new custom resource looks it up only after a conflict).
	if got, _ := g.Gather(t.Context(), fresh); got.Inputs.Live != nil {
		t.Error("a new custom resource: the Deployment was looked for")
	}
	if got, faults := g.GatherLive(t.Context(), fresh); got.Inputs.Live == nil {
		t.Errorf("something is in the way: the Deployment was not found, faults %s", faults.Message())
	}
}
