// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
)

// switchoverDelay is how long old pods run after the Service stops selecting them, to finish requests.
const switchoverDelay = 10 * time.Second

// Switchover returns the objects to apply now and the requeue delay, so that replacing release 0.9's pods loses no
// request. It holds the rollout until all new pods are ready and the Service selects only these.
func (a *Adopter) Switchover(
	ctx context.Context, owner *v1alpha2.LlamaStackDistribution, live *appsv1.Deployment, list []objects.Object,
) ([]objects.Object, time.Duration, *problem.Problem) {
	s := switchover{}
	for i, o := range list {
		switch o := o.(type) {
		case *appsv1.Deployment:
			s.held = live != nil && o.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType &&
				(release09.IsHeld(live) || release09.NeedsSwitchover(live))
			s.deployment = i + 1
		case *corev1.Service:
			service := &corev1.Service{}
			s.selectsNew = a.Cached.Get(ctx, client.ObjectKeyFromObject(o), service) == nil &&
				names.SelectsNewPods(service, owner.Name)
			s.since = lastApplied(service)
			s.service = i + 1
		}
	}
	if live == nil || !s.held && !s.selectsNew {
		return list, 0, nil
	}
	replicaSets, err := apply.ReplicaSetsOf(ctx, a.Live, owner)
	if err != nil {
		return nil, 0, apply.Failed("the ReplicaSets", "could not be listed", err)
	}
	s.count(replicaSets, ptr.Deref(live.Spec.Replicas, 1))
	switch {
	case s.oldEnded: // all old pods ended
		return list, 0, nil
	case !s.held:
		return s.selectNew(owner.Name, list), 0, nil
	case !s.ready:
		return s.hold(list), 0, nil
	case !s.selectsNew:
		return s.selectNew(owner.Name, s.hold(list)), 0, nil
	}
	if wait := switchoverDelay - time.Since(s.since); wait > 0 {
		return s.selectNew(owner.Name, s.hold(list)), wait, nil
	}
	return s.selectNew(owner.Name, list), 0, nil
}

type switchover struct {
	// deployment and service are the positions of these objects, from 1 on; 0 if absent.
	deployment, service int
	// held reports whether the rollout is, or must be, held; selectsNew whether the Service selects only new pods.
	held, selectsNew bool
	// since is the operator's last change of the Service.
	since time.Time
	// ready reports whether enough new pods are ready, and oldEnded whether all old ones ended.
	ready, oldEnded bool
}

func (s *switchover) count(replicaSets []appsv1.ReplicaSet, desired int32) {
	ready := int32(0)
	s.oldEnded = true
	for i := range replicaSets {
		rs := &replicaSets[i]
		if names.HasNewPods(&rs.Spec.Template) {
			ready += rs.Status.ReadyReplicas
		} else if apply.HasPods(rs) {
			s.oldEnded = false
		}
	}
	s.ready = ready > 0 && ready >= desired
}

func (s *switchover) hold(list []objects.Object) []objects.Object {
	list = slices.Clone(list)
	if s.deployment > 0 {
		d := list[s.deployment-1].(*appsv1.Deployment).DeepCopy()
		release09.HoldRollout(d)
		list[s.deployment-1] = d
	}
	return list
}

func (s *switchover) selectNew(resource string, list []objects.Object) []objects.Object {
	list = slices.Clone(list)
	if s.service > 0 {
		service := list[s.service-1].(*corev1.Service).DeepCopy()
		service.Spec.Selector = names.NewPodsSelector(resource)
		list[s.service-1] = service
	}
	return list
}

// lastApplied returns the time of the operator's last change of the object, by the API server's clock.
func lastApplied(o client.Object) (last time.Time) {
	for _, e := range o.GetManagedFields() {
		if e.Manager == apply.FieldManager && e.Time != nil && e.Time.After(last) {
			last = e.Time.Time
		}
	}
	return last
}
