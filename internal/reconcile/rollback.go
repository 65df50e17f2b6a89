// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/pods"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
)

const (
	// startTime is how long the only pod may fail to start before the former pod template returns.
	startTime = 2 * time.Minute
	// startPeriod is the polling interval for a pod that needs more time, such as for its image.
	startPeriod = 30 * time.Second
)

// rollBack applies the former pod template if no old pod runs beside the new one, and the new one does not start.
func (r *Reconciler) rollBack(ctx context.Context, s *scope) {
	if s.desired == nil || s.problems.HasErrors() || !s.desired.MayRollBack(&s.cr.Spec, s.deployment) {
		return
	}
	since := s.pods.Newest
	if since.IsZero() {
		since = status.RefusedSince(s.deployment)
	}
	if since.IsZero() {
		return // the old pod is ending
	}
	if left := time.Until(since.Add(startTime)); left > 0 {
		s.requeueBy(left + time.Second) // creation times are in whole seconds
		return
	}
	former, err := r.formerOf(ctx, s)
	if err != nil {
		s.fail(apply.Failed("the former pod template", "could not be read", err))
		return
	}
	if former == nil {
		s.requeueBy(startPeriod)
		return
	}
	rolledBack := s.desired.Rollback(former, status.RollbackCause(&s.pods, s.deployment))
	result, p := r.applier.Apply(ctx, s.cr, []objects.Object{rolledBack})
	s.fail(p)
	if p == nil && result.Deployment != nil {
		s.applied.Deployment, s.applied.Changed = result.Deployment, s.applied.Changed+result.Changed
		s.deployment, s.desired.RolledBack = result.Deployment, rolledBack.Annotations[names.AnnotationRollbackCause]
	}
}

// formerOf returns the ReplicaSet whose template helps, or nil. It reads live, which a cache that lags behind requires.
func (r *Reconciler) formerOf(ctx context.Context, s *scope) (*appsv1.ReplicaSet, error) {
	sets, err := apply.ReplicaSetsOf(ctx, r.live, s.cr)
	if err != nil || len(sets) == 0 {
		return nil, err
	}
	current := &sets[0]
	i := slices.IndexFunc(sets[1:], func(rs appsv1.ReplicaSet) bool {
		return rs.Annotations[names.AnnotationInputHash] == s.deployment.Annotations[names.AnnotationFormerInputs]
	})
	if i < 0 || current.Annotations[names.AnnotationInputHash] != s.desired.InputHash {
		return nil, nil
	}
	former := &sets[1+i]
	var list corev1.PodList
	err = r.live.List(ctx, &list, client.InNamespace(s.cr.Namespace), client.MatchingLabels{
		appsv1.DefaultDeploymentUniqueLabelKey: current.Labels[appsv1.DefaultDeploymentUniqueLabelKey]},
		client.MatchingLabels(names.Selector(s.cr.Name)))
	if err != nil || !helps(s.cr.Name, current, former, list.Items, s.deployment) {
		return nil, err
	}
	missing, problem := r.gatherer.IsGeneratedMissing(ctx, s.cr, &former.Spec.Template)
	if problem != nil || missing {
		return nil, nil
	}
	return former, nil
}

// helps reports whether the pods of the current ReplicaSet fail to start for a reason that the former one lacks.
func helps(resource string, current, former *appsv1.ReplicaSet, list []corev1.Pod, d *appsv1.Deployment) bool {
	now, before := &current.Spec.Template.Spec, &former.Spec.Template.Spec
	if equality.Semantic.DeepEqual(now, before) || status.WasComplete(d, current.Name) {
		return false // such as with another value of a Secret, or with a database that was lost later
	}
	start := pods.Starting
	if !status.RefusedSince(d).IsZero() {
		start = pods.NotStarted
	}
	for i := range list {
		if list[i].DeletionTimestamp == nil && !pods.HasEnded(&list[i]) {
			start = pods.StartOf(&list[i])
			break
		}
	}
	switch start {
	case pods.NotPlaced:
		return build.DiffersInPlacement(resource, now, before)
	case pods.NotStarted:
		return true
	case pods.Ended:
		return build.SameLine(current, former)
	case pods.Ready:
		return false
	case pods.Starting:
		return status.IsStuck(d) && !slices.ContainsFunc(list, pods.HasRun)
	}
	return false
}
