// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// Prune deletes owned objects that are not desired. It keeps the desired and the previous generated object of each
// sort, and those of ReplicaSets with pods.
func (a *Applier) Prune(ctx context.Context, owner *v1alpha2.LlamaStackDistribution,
	desired []objects.Object) *problem.Problem {
	keep, former := map[string]bool{}, ""
	for _, o := range desired {
		if d, ok := o.(*appsv1.Deployment); ok {
			former = d.Annotations[names.AnnotationFormerInputs]
		}
		keep[o.GetObjectKind().GroupVersionKind().Kind+"/"+o.GetName()] = true
	}
	var obsolete []client.Object
	_, edgeLists := edgeKinds(a.EdgeAPIs)
	for _, list := range slices.Concat(edgeLists, prunedLists()) {
		controlled, err := ownedBy(ctx, a.Cached, owner, list)
		if err != nil {
			return Failed("the owned objects", "could not be listed", err)
		}
		for _, o := range controlled {
			if !keep[KindOf(o)+"/"+o.GetName()] {
				obsolete = append(obsolete, o)
			}
		}
	}
	generated, err := a.obsoleteGenerated(ctx, owner, keep, former)
	if err != nil {
		return Failed("what was generated", "could not be listed", err)
	}
	for _, o := range slices.Concat(obsolete, generated) {
		if f := Remove(ctx, a.Client, o); f != nil {
			return f
		}
	}
	return nil
}

// Remove deletes exactly this object, not a later one of its name.
func Remove(ctx context.Context, writer client.Writer, o client.Object) *problem.Problem {
	err := writer.Delete(ctx, o, client.Preconditions{UID: new(o.GetUID())},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return Failed(KindOf(o)+" "+o.GetName(), "could not be removed", err)
	}
	return nil
}

// KindOf returns an object's kind, also for an item of a typed list, which has no type metadata.
func KindOf(o client.Object) string {
	if kind := o.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		return kind
	}
	return reflect.TypeOf(o).Elem().Name()
}

// ownedBy lists from the cache the objects that the resource controls, and orphans of its name.
func ownedBy(
	ctx context.Context, cached client.Reader, owner *v1alpha2.LlamaStackDistribution, list client.ObjectList,
) ([]client.Object, error) {
	err := cached.List(ctx, list, client.InNamespace(owner.Namespace), client.MatchingLabels(names.Selector(owner.Name)),
		client.MatchingFields{InstanceIndex: owner.Name})
	if err != nil {
		return nil, err
	}
	var found []client.Object
	err = meta.EachListItem(list, func(item runtime.Object) error {
		if o := item.(client.Object); (metav1.IsControlledBy(o, owner) || isOrphan(o, owner)) &&
			o.GetDeletionTimestamp() == nil {
			found = append(found, o)
		}
		return nil
	})
	return found, err
}

// obsoleteGenerated returns the generated objects that neither pods nor a rollback need; former is the hash of the
// inputs of the template to roll back to.
func (a *Applier) obsoleteGenerated(ctx context.Context, owner *v1alpha2.LlamaStackDistribution,
	keep map[string]bool, former string) ([]client.Object, error) {
	families := map[string][]client.Object{}
	desired := map[string]bool{}
	for _, gvk := range generatedKinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		controlled, err := ownedBy(ctx, a.Cached, owner, list)
		if err != nil {
			return nil, err
		}
		for _, o := range controlled {
			family := gvk.Kind + "/" + objects.Family(o.GetName())
			if keep[gvk.Kind+"/"+o.GetName()] {
				desired[family] = true
			} else {
				families[family] = append(families[family], o)
			}
		}
	}
	var obsolete []client.Object
	var replicaSets []appsv1.ReplicaSet
	for _, family := range slices.Sorted(maps.Keys(families)) {
		others := families[family]
		if len(others) == 1 && desired[family] {
			continue // the desired and the previous one
		}
		if replicaSets == nil {
			var err error
			if replicaSets, err = ReplicaSetsOf(ctx, a.Live, owner); err != nil {
				return nil, err
			}
		}
		retained := previous(owner.Name, replicaSets, others)
		if retained == "" && desired[family] {
			retained = youngest(others)
		}
		obsolete = append(obsolete, slices.DeleteFunc(others, func(o client.Object) bool {
			return o.GetName() == retained || isNeeded(owner.Name, former, replicaSets, o)
		})...)
	}
	return obsolete, nil
}

// ReplicaSetsOf lists the resource's ReplicaSets live, newest revision first, for the rare deletions.
func ReplicaSetsOf(ctx context.Context, live client.Reader,
	owner *v1alpha2.LlamaStackDistribution) ([]appsv1.ReplicaSet, error) {
	var list appsv1.ReplicaSetList
	err := live.List(ctx, &list, client.InNamespace(owner.Namespace), client.MatchingLabels(names.Selector(owner.Name)))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list.Items, func(a, b appsv1.ReplicaSet) int { return revision(&b) - revision(&a) })
	return list.Items, nil
}

func revision(rs *appsv1.ReplicaSet) int {
	n, _ := strconv.Atoi(rs.Annotations["deployment.kubernetes.io/revision"]) // 0 without a revision
	return n
}

// isNeeded reports whether existing or upcoming pods need a generated object, or those of a rollback.
func isNeeded(resource, former string, replicaSets []appsv1.ReplicaSet, o client.Object) bool {
	return slices.ContainsFunc(replicaSets, func(rs appsv1.ReplicaSet) bool {
		isFormer := former != "" && rs.Annotations[names.AnnotationInputHash] == former
		return (HasPods(&rs) || isFormer) && needs(resource, &rs, o)
	})
}

// HasPods reports whether the ReplicaSet has pods, or will have.
func HasPods(rs *appsv1.ReplicaSet) bool {
	return ptr.Deref(rs.Spec.Replicas, 1) > 0 || rs.Status.Replicas > 0
}

func needs(resource string, rs *appsv1.ReplicaSet, o client.Object) bool {
	return objects.GeneratedFor(resource, &rs.Spec.Template.Spec).Has(KindOf(o), o.GetName())
}

// previous returns the object of the newest ReplicaSet, which a rollback needs, or "".
func previous(resource string, replicaSets []appsv1.ReplicaSet, others []client.Object) string {
	for i := range replicaSets {
		for _, o := range others {
			if needs(resource, &replicaSets[i], o) {
				return o.GetName()
			}
		}
	}
	return ""
}

func youngest(others []client.Object) string {
	return slices.MaxFunc(others, func(a, b client.Object) int {
		if c := a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time); c != 0 {
			return c
		}
		return strings.Compare(a.GetName(), b.GetName())
	}).GetName()
}
