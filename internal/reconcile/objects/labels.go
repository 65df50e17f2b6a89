// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// The labels of all objects.
const (
	// LabelManagedBy marks what the operator writes; its caches of full objects hold nothing else.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// ManagedBy is the value of LabelManagedBy, and the operator's field manager.
	ManagedBy = "llama-stack-operator"

	// ReplicasManager is the field manager of the number of pods while that goes from the operator to an autoscaler.
	ReplicasManager = ManagedBy + "-replicas"

	// LabelInstance has the name of the custom resource.
	LabelInstance = "app.kubernetes.io/instance"

	labelApp = "app"
	appName  = "llama-stack"
)

// Selector returns the labels that select the pods of a resource. They are immutable in a Deployment and never change.
func Selector(resource string) map[string]string {
	return map[string]string{labelApp: appName, LabelInstance: resource}
}

// PodsOfServers selects the pods of all resources, those of release 0.9 included.
func PodsOfServers() labels.Selector {
	named, _ := labels.NewRequirement(LabelInstance, selection.Exists, nil) // the label is a valid one
	return labels.SelectorFromSet(labels.Set{labelApp: appName}).Add(*named)
}

// NewPodsSelector selects the pods that this operator's template made. Pods of release 0.9 do not have its label.
func NewPodsSelector(resource string) map[string]string {
	selector := Selector(resource)
	selector[LabelManagedBy] = ManagedBy
	return selector
}

// SelectsNewPods reports whether a Service selects only pods of this operator's template.
func SelectsNewPods(service *corev1.Service, resource string) bool {
	return maps.Equal(service.Spec.Selector, NewPodsSelector(resource))
}

// HasNewPods reports whether pods of a template are selected by NewPodsSelector.
func HasNewPods(template *corev1.PodTemplateSpec) bool {
	return template.Labels[LabelManagedBy] == ManagedBy
}

// Selects reports whether a Deployment has the selector of the custom resource's pods.
func Selects(d *appsv1.Deployment, resource string) bool {
	return d.Spec.Selector != nil && len(d.Spec.Selector.MatchExpressions) == 0 &&
		maps.Equal(d.Spec.Selector.MatchLabels, Selector(resource))
}

func objectLabels(resource string) map[string]string {
	all := Selector(resource)
	maps.Copy(all, map[string]string{
		LabelManagedBy:              ManagedBy,
		"app.kubernetes.io/name":    appName,
		"app.kubernetes.io/part-of": appName,
	})
	return all
}

// stamp is the metadata of every object: name, labels and the owner, so that deleting the resource removes it.
func stamp(cr *v1alpha2.LlamaStackDistribution, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:      name,
		Namespace: cr.Namespace,
		Labels:    objectLabels(cr.Name),

		OwnerReferences: []metav1.OwnerReference{*ControllerRef(cr)},
	}
}

// ControllerRef is the reference by which the resource controls its objects.
func ControllerRef(cr *v1alpha2.LlamaStackDistribution) *metav1.OwnerReference {
	return &metav1.OwnerReference{
		APIVersion:         v1alpha2.GroupVersion.String(),
		Kind:               v1alpha2.Kind,
		Name:               cr.Name,
		UID:                cr.UID,
		Controller:         new(true),
		BlockOwnerDeletion: new(true),
	}
}

// ResourceOfPod is the name of the custom resource that a pod with these labels belongs to.
func ResourceOfPod(all map[string]string) string { return all[LabelInstance] }

// OwnLabels returns, of an object's labels, those by which the operator finds its objects again.
func OwnLabels(all map[string]string) map[string]string {
	own := map[string]string{}
	for _, key := range []string{LabelManagedBy, labelApp, LabelInstance} {
		if value, ok := all[key]; ok {
			own[key] = value
		}
	}
	return own
}
