// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"reflect"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/fault"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
)

// Prune removes what the resource owns and nobody wants any more: owned minus wanted. Of the generated ConfigMaps the
// wanted and the previous one stay, and every one that a ReplicaSet with replicas mounts.
func (a *Applier) Prune(ctx context.Context, owner *v1alpha2.LlamaStackDistribution, wanted []objects.Object) *fault.Fault {
	keep := map[string]bool{}
	for _, o := range wanted {
		keep[o.GetObjectKind().GroupVersionKind().Kind+"/"+o.GetName()] = true
	}
	var doomed []client.Object
	for _, list := range prunedLists() {
		owned, err := a.owned(ctx, owner, list)
		if err != nil {
			return failed("the owned objects", "could not be listed", err)
		}
		for _, o := range owned {
			if !keep[kindOf(o)+"/"+o.GetName()] {
				doomed = append(doomed, o)
			}
		}
	}
	configMaps, err := a.obsoleteConfigMaps(ctx, owner, keep)
	if err != nil {
		return failed("the generated ConfigMaps", "could not be listed", err)
	}
	for _, o := range append(doomed, configMaps...) {
		err := a.Client.Delete(ctx, o, client.Preconditions{UID: new(o.GetUID())},
			client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return failed(kindOf(o)+" "+o.GetName(), "could not be removed", err)
		}
	}
	return nil
}

// kindOf is the kind of an object of a list, whose type metadata is empty where the type tells the kind.
func kindOf(o client.Object) string {
	if kind := o.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		return kind
	}
	return reflect.TypeOf(o).Elem().Name()
}

// owned lists from the cache what the resource controls.
func (a *Applier) owned(ctx context.Context, owner *v1alpha2.LlamaStackDistribution, list client.ObjectList) ([]client.Object, error) {
	err := a.Cached.List(ctx, list, client.InNamespace(owner.Namespace), client.MatchingLabels(objects.Selector(owner.Name)))
	if err != nil {
		return nil, err
	}
	var owned []client.Object
	err = meta.EachListItem(list, func(item runtime.Object) error {
		if o := item.(client.Object); metav1.IsControlledBy(o, owner) && o.GetDeletionTimestamp() == nil {
			owned = append(owned, o)
		}
		return nil
	})
	return owned, err
}

func (a *Applier) obsoleteConfigMaps(ctx context.Context, owner *v1alpha2.LlamaStackDistribution, keep map[string]bool) ([]client.Object, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMapList"})
	owned, err := a.owned(ctx, owner, list)
	if err != nil {
		return nil, err
	}
	others := slices.DeleteFunc(owned, func(o client.Object) bool { return keep["ConfigMap/"+o.GetName()] })
	if len(others) < 2 {
		return nil, nil // the wanted and the previous one
	}
	replicaSets, err := a.replicaSets(ctx, owner)
	if err != nil {
		return nil, err
	}
	spare := mountedByPods(replicaSets)
	spare[previousConfigMap(replicaSets, others)] = true
	return slices.DeleteFunc(others, func(o client.Object) bool { return spare[o.GetName()] }), nil
}

// replicaSets lists the resource's ReplicaSets, newest revision first. They are asked for only when something would be
// removed, so that no cache of them is needed.
func (a *Applier) replicaSets(ctx context.Context, owner *v1alpha2.LlamaStackDistribution) ([]appsv1.ReplicaSet, error) {
	var list appsv1.ReplicaSetList
	err := a.Live.List(ctx, &list, client.InNamespace(owner.Namespace), client.MatchingLabels(objects.Selector(owner.Name)))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list.Items, func(a, b appsv1.ReplicaSet) int { return revision(&b) - revision(&a) })
	return list.Items, nil
}

func revision(rs *appsv1.ReplicaSet) int {
	n, _ := strconv.Atoi(rs.Annotations["deployment.kubernetes.io/revision"]) // 0 where there is none yet
	return n
}

// mountedByPods names the ConfigMaps that pods mount or may mount any moment.
func mountedByPods(replicaSets []appsv1.ReplicaSet) map[string]bool {
	mounted := map[string]bool{}
	for i := range replicaSets {
		if rs := &replicaSets[i]; ptr.Deref(rs.Spec.Replicas, 1) > 0 || rs.Status.Replicas > 0 {
			mounted[objects.MountedConfigMap(&rs.Spec.Template.Spec)] = true
		}
	}
	return mounted
}

// previousConfigMap names, of the ConfigMaps that are not wanted any more, the one that was in force last: that of the
// newest ReplicaSet, for a rollback to find, else the youngest.
func previousConfigMap(replicaSets []appsv1.ReplicaSet, others []client.Object) string {
	for i := range replicaSets {
		name := objects.MountedConfigMap(&replicaSets[i].Spec.Template.Spec)
		if slices.ContainsFunc(others, func(o client.Object) bool { return o.GetName() == name }) {
			return name
		}
	}
	return slices.MaxFunc(others, func(a, b client.Object) int {
		if c := a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time); c != 0 {
			return c
		}
		return strings.Compare(a.GetName(), b.GetName())
	}).GetName()
}
