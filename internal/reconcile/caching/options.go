// SPDX-License-Identifier: Apache-2.0

package caching

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/pods"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
)

// Options returns the options of the cache; no namespaces mean all, and so does a nil selector.
func Options(namespaces []string, operatorNamespace string, selector labels.Selector) cache.Options {
	o := cache.Options{
		DefaultTransform: strip,
		ByObject:         map[client.Object]cache.ByObject{},
	}
	for _, kind := range apply.FullKinds() {
		o.ByObject[kind] = ownObjects()
	}
	o.ByObject[gather.NewTree()] = cache.ByObject{Label: selector, Transform: stripTree}
	o.ByObject[&corev1.Pod{}] = cache.ByObject{Label: names.PodsOfServers(), Transform: stripPod}
	if len(namespaces) == 0 {
		return o
	}
	o.DefaultNamespaces = map[string]cache.Config{}
	// The operator's namespace has its settings and registered distributions; watch only ConfigMaps there.
	withOperatorNamespace := map[string]cache.Config{operatorNamespace: {}}
	for _, n := range namespaces {
		o.DefaultNamespaces[n] = cache.Config{}
		withOperatorNamespace[n] = cache.Config{}
	}
	o.ByObject[&corev1.ConfigMap{}] = cache.ByObject{Namespaces: withOperatorNamespace}
	return o
}

// ownObjects restricts a kind to objects with the operator's label.
func ownObjects() cache.ByObject {
	return cache.ByObject{Label: labels.SelectorFromSet(labels.Set{names.LabelManagedBy: names.ManagedBy})}
}

// UncachedKinds returns the kinds that are never cached, because those of a whole cluster do not fit in memory.
func UncachedKinds() []client.Object {
	return []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}
}

// stripPod strips a pod to the fields that the status needs; whole pods take gigabytes in large clusters.
func stripPod(in any) (any, error) {
	if pod, ok := in.(*corev1.Pod); ok {
		pods.Strip(pod)
	}
	return in, nil
}

func stripTree(in any) (any, error) {
	stripped, err := strip(in)
	if err != nil {
		return nil, err
	}
	return gather.Pack(stripped)
}

// strip drops unused metadata, such as foreign annotations, which may hold secrets.
func strip(in any) (any, error) {
	switch o := in.(type) {
	case *metav1.PartialObjectMetadata:
		kept := metav1.ObjectMeta{
			Name: o.Name, Namespace: o.Namespace, UID: o.UID, ResourceVersion: o.ResourceVersion,
			CreationTimestamp: o.CreationTimestamp, DeletionTimestamp: o.DeletionTimestamp,
		}
		if o.Labels[names.LabelManagedBy] == names.ManagedBy {
			kept.Labels = names.OwnLabels(o.Labels)
		}
		if controller := metav1.GetControllerOf(o); controller != nil {
			kept.OwnerReferences = []metav1.OwnerReference{*controller}
		}
		o.ObjectMeta = kept
		return o, nil
	case metav1.Object:
		o.SetManagedFields(writers(o))
	}
	return in, nil
}

// writers returns the managed fields that the operator uses: its own entries, the writers for release09, those of an
// undo, and those of allowedFrom.
func writers(o metav1.Object) []metav1.ManagedFieldsEntry {
	kept := slices.DeleteFunc(release09.Writers(o), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == apply.FieldManager
	})
	for _, e := range o.GetManagedFields() {
		if e.Manager == apply.FieldManager && e.Subresource == "" || apply.IsUndo(&e) ||
			v1alpha2.WritesAllowedFrom(&e) {
			kept = append(kept, e)
		}
	}
	return kept
}
