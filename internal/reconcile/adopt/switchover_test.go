// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"maps"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fakecluster"
)

// Proves: R78, US-7.1 (the rollout is held until all new pods are ready and the Service selects only them).
func TestSwitchoverFollowsFromTheCluster(t *testing.T) {
	old := func() *appsv1.Deployment {
		return orphan(func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(2)) })
	}
	newLabel := map[string]string{names.LabelManagedBy: names.ManagedBy}
	adopted := func() *appsv1.Deployment {
		d := old()
		d.Annotations = map[string]string{names.AnnotationBuild: release09.Build}
		d.ManagedFields = nil
		return d
	}
	held := func() *appsv1.Deployment {
		d := old()
		d.Annotations = map[string]string{names.AnnotationBuild: "1.0.0"}
		d.ManagedFields = nil
		d.Spec.Template.Labels = newLabel
		release09.HoldRollout(d)
		return d
	}
	released := func() *appsv1.Deployment {
		d := held()
		d.Annotations = map[string]string{names.AnnotationBuild: "1.0.0"}
		return d
	}
	with := func(d *appsv1.Deployment, change func(*appsv1.Deployment)) *appsv1.Deployment { change(d); return d }
	for name, c := range map[string]struct {
		live                      *appsv1.Deployment
		oldPods, newPods          int32
		isNarrow                  bool
		held, narrow, again, lazy bool // lazy: ReplicaSets are not listed
	}{
		"a new custom resource":     {live: nil, lazy: true},
		"release 0.9's":             {live: old(), oldPods: 2, held: true},
		"adopted, and edited":       {live: adopted(), oldPods: 2, held: true},
		"release 0.9's, no pods":    {live: with(old(), func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(0)) }), lazy: true},
		"release 0.9's, pods drain": {live: with(old(), func(d *appsv1.Deployment) { d.Spec.Template.Labels = newLabel }), oldPods: 2, lazy: true},
		"this operator's":           {live: released(), newPods: 2, lazy: true},
		"no new pod is ready":       {live: held(), oldPods: 2, held: true},
		"one of two is ready":       {live: held(), oldPods: 2, newPods: 1, held: true},
		"all are ready":             {live: held(), oldPods: 2, newPods: 2, held: true, narrow: true},
		"the Service is narrow":     {live: held(), oldPods: 2, newPods: 2, isNarrow: true, held: true, narrow: true, again: true},
		"one is not ready any more": {live: held(), oldPods: 2, newPods: 1, isNarrow: true, held: true},
		"released, old pods end":    {live: released(), oldPods: 1, newPods: 2, isNarrow: true, narrow: true},
		"released, old pods ended":  {live: released(), newPods: 2, isNarrow: true},
		"held, old pods ended":      {live: held(), newPods: 2, isNarrow: true},
	} {
		t.Run(name, func(t *testing.T) {
			service := fakecluster.Owned(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "my-stack-service"}}, "u1").(*corev1.Service)
			service.Spec.Selector = names.Selector("my-stack")
			if c.isNarrow {
				service.Spec.Selector = names.NewPodsSelector("my-stack")
				service.ManagedFields = []metav1.ManagedFieldsEntry{{
					Manager: apply.FieldManager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", Time: new(metav1.Now()),
					FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:selector":{}}}`),
				}}
			}
			sets := []client.Object{service}
			for revision, pods := range []int32{c.oldPods, c.newPods} {
				rs := fakecluster.ReplicaSet(revision+1, pods, "x").(*appsv1.ReplicaSet)
				rs.Status.Replicas, rs.Status.ReadyReplicas = pods, pods
				if revision == 1 {
					rs.Spec.Template.Labels = newLabel
				}
				sets = append(sets, rs)
			}
			cluster := fakecluster.New(t, sets...)
			a := adopter(cluster)
			wanted := fakecluster.Desired("a: b\n")
			check := func(held, narrow, again bool) {
				t.Helper()
				list, wait, f := a.Switchover(t.Context(), fakecluster.Owner(), c.live, wanted)
				if f != nil || (wait > 0) != again || len(list) != len(wanted) {
					t.Fatalf("%d objects, again in %s, %v", len(list), wait, f)
				}
				d, s := list[2].(*appsv1.Deployment), list[3].(*corev1.Service)
				if release09.IsHeld(d) != held || (d.Spec.MinReadySeconds > 0) != held || names.SelectsNewPods(s, "my-stack") != narrow {
					t.Errorf("held %v, narrow %v, want %v, %v", release09.IsHeld(d), s.Spec.Selector, held, narrow)
				}
				if held && (*d.Spec.ProgressDeadlineSeconds <= d.Spec.MinReadySeconds || d.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue() != 0) {
					t.Errorf("the rollout is %+v", d.Spec)
				}
			}
			check(c.held, c.narrow, c.again)
			if c.again { // the delay is over, also for an operator that has just started
				service.ManagedFields[0].Time = &metav1.Time{Time: time.Now().Add(-switchoverDelay)}
				cluster = fakecluster.New(t, sets...)
				a = adopter(cluster)
				check(false, true, false)
			}
			if (cluster.ListsOfReplicaSets == 0) != c.lazy {
				t.Errorf("ReplicaSets were listed %d times", cluster.ListsOfReplicaSets)
			}
			if release09.IsHeld(wanted[2].(*appsv1.Deployment)) || !maps.Equal(wanted[3].(*corev1.Service).Spec.Selector, names.Selector("my-stack")) {
				t.Error("what is desired was changed")
			}
		})
	}
}

// Proves: R78 (with a PVC the old pods end before new ones start).
func TestSwitchoverHoldsNoRecreate(t *testing.T) {
	rs := fakecluster.ReplicaSet(1, 1, "x")
	cluster := fakecluster.New(t, rs)
	wanted := fakecluster.Desired("a: b\n")
	wanted[2].(*appsv1.Deployment).Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	live := orphan(nil)
	list, wait, f := adopter(cluster).Switchover(t.Context(), fakecluster.Owner(), live, wanted)
	if f != nil || wait > 0 || release09.IsHeld(list[2].(*appsv1.Deployment)) {
		t.Errorf("held, again in %s, %v", wait, f)
	}
}
