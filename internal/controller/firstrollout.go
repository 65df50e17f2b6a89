// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/desired"
	"github.com/llamastack/llama-stack-k8s-operator/internal/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/internal/status"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

const (
	// maxFirstRollouts bounds the custom resources of which a firstRollout is remembered, each some 50 KiB, and firstRolloutTime for how long.
	maxFirstRollouts = 500
	firstRolloutTime = 10 * time.Minute
)

// firstRollout is what was built for a new custom resource. Until its server runs, the status of its Deployment and pods changes several times:
// while these are the only changes, nothing is read, built and compared again. It holds values of Secrets, and is dropped when the server runs.
type firstRollout struct {
	uid        types.UID
	generation int64
	annotation string
	until      time.Time
	versions   map[referred]string
	gathered   *gather.Gathered
	desired    *desired.Desired
	warnings   problem.List
	deployment *appsv1.Deployment
	// others are the other objects that were created: empty, but for their names. Those of them that the caches have shown are seen.
	others []objects.Object
	seen   map[objects.Object]bool
}

// firstRollouts are those of several custom resources. Its zero value is ready.
type firstRollouts struct {
	mu  sync.Mutex
	all map[types.NamespacedName]*firstRollout
}

func (f *firstRollouts) get(key types.NamespacedName) *firstRollout {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all[key]
}

func (f *firstRollouts) forget(key types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, key)
}

func (f *firstRollouts) put(key types.NamespacedName, r *firstRollout) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.all) >= maxFirstRollouts {
		return
	}
	if f.all == nil {
		f.all = map[types.NamespacedName]*firstRollout{}
	}
	f.all[key] = r
}

// unseenDelay is when a reconcile is repeated that took an object which the caches have not shown yet for one that is about to come.
const unseenDelay = 5 * time.Second

// reuse takes what was built before the first rollout, where nothing has changed since but the status of the Deployment and of pods.
func (r *Reconciler) reuse(ctx context.Context, s *scope) bool {
	f := r.first.get(s.key)
	if f == nil {
		return false
	}
	d := &appsv1.Deployment{}
	same := f.uid == s.cr.UID && f.generation == s.cr.Generation && f.annotation == s.cr.Annotations[v1alpha2.ConversionAnnotation] &&
		len(s.problems) == 0 && time.Now().Before(f.until) && (f.desired.Recheck.IsZero() || time.Now().Before(f.desired.Recheck)) &&
		maps.Equal(f.versions, r.versions(ctx, slices.Collect(maps.Keys(f.versions)))) &&
		r.client.Get(ctx, client.ObjectKeyFromObject(f.deployment), d) == nil && isSameButStatus(f.deployment, d)
	if !same || !r.othersAreThere(ctx, s, f) {
		r.first.forget(s.key)
		return false
	}
	gathered, inputs := *f.gathered, *f.gathered.Inputs
	inputs.CR, inputs.Live = s.cr, d
	gathered.Inputs = &inputs
	s.gathered, s.desired, s.problems, s.applied = &gathered, f.desired, f.warnings, &apply.Result{}
	return true
}

// isSameButStatus reports whether a Deployment differs from another only in its status, and in what its controller notes.
func isSameButStatus(before, now *appsv1.Deployment) bool {
	annotations := maps.Clone(now.Annotations)
	delete(annotations, "deployment.kubernetes.io/revision")
	return before.UID == now.UID && before.Generation == now.Generation && now.DeletionTimestamp == nil &&
		maps.Equal(before.Labels, now.Labels) && maps.Equal(before.Annotations, annotations) &&
		slices.EqualFunc(before.OwnerReferences, now.OwnerReferences, func(a, b metav1.OwnerReference) bool { return a.UID == b.UID })
}

// othersAreThere reports whether the caches show the other objects as they were created.
func (r *Reconciler) othersAreThere(ctx context.Context, s *scope, f *firstRollout) bool {
	for _, o := range f.others {
		switch is, err := r.applier.IsAsWritten(ctx, s.cr, o); {
		case is:
			f.seen[o] = true
		case apierrors.IsNotFound(err) && !f.seen[o]:
			s.again = unseenDelay
		default:
			return false
		}
	}
	return true
}

// versions are those of the Secrets and ConfigMaps that a custom resource refers to, and of the operator's settings, as the caches have them.
func (r *Reconciler) versions(ctx context.Context, references []referred) map[referred]string {
	versions := map[referred]string{}
	for _, ref := range references {
		metadata := apply.MetadataOf(corev1.SchemeGroupVersion.WithKind(ref.kind))
		err := r.applier.Cached.Get(ctx, ref.NamespacedName, metadata)
		if client.IgnoreNotFound(err) != nil {
			return nil
		}
		versions[ref] = metadata.ResourceVersion
	}
	return versions
}

// referred is a Secret or ConfigMap.
type referred struct {
	kind string
	types.NamespacedName
}

// begins notes what a new custom resource refers to, before that is read.
func (r *Reconciler) begins(ctx context.Context, s *scope) {
	if s.cr.Status.Phase != "" || len(s.problems) > 0 {
		return
	}
	references := []referred{{objects.KindConfigMap, types.NamespacedName{Namespace: r.gatherer.OperatorNamespace, Name: settings.ConfigMapName}}}
	for _, ref := range desired.References(s.cr) {
		references = append(references, referred{ref.Kind, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}})
	}
	s.versions = r.versions(ctx, references)
}

// remember keeps what was built where this reconcile created all of it, and forgets it when the server runs.
func (r *Reconciler) remember(s *scope) {
	switch {
	case s.problems.HasErrors() || status.RolledOut(s.deployment) && !s.serverPending:
		r.first.forget(s.key)
	case s.versions == nil || s.gathered.Inputs.Live != nil || s.large || len(s.desired.Held) > 0 || s.again > 0 || s.desired.Expose.Enabled ||
		s.applied == nil || s.applied.Deployment == nil || s.applied.Written != len(s.desired.Objects):
	default:
		f := &firstRollout{
			uid: s.cr.UID, generation: s.cr.Generation, annotation: s.cr.Annotations[v1alpha2.ConversionAnnotation], until: time.Now().Add(firstRolloutTime),
			versions: s.versions, gathered: s.gathered, warnings: s.problems, deployment: s.applied.Deployment, seen: map[objects.Object]bool{},
		}
		built := *s.desired
		built.Objects = nil
		f.desired = &built
		for _, o := range s.desired.Objects {
			if _, is := o.(*appsv1.Deployment); !is {
				f.others = append(f.others, apply.Named(o))
			}
		}
		r.first.put(s.key, f)
	}
}
