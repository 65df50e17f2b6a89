// SPDX-License-Identifier: Apache-2.0

package names

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// Labels of all objects.
const (
	// LabelManagedBy marks the operator's objects; its caches of full objects hold only these.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// ManagedBy is the value of LabelManagedBy, and the operator's field manager.
	ManagedBy = "llama-stack-operator"

	// ReplicasManager is the field manager of replicas during the handover to an autoscaler.
	ReplicasManager = ManagedBy + "-replicas"

	// LabelInstance has the name of the custom resource.
	LabelInstance = "app.kubernetes.io/instance"

	labelApp = "app"
	appName  = "llama-stack"
)

// Selector returns the pod selector of a resource, which is immutable in a Deployment and never changes.
func Selector(resource string) map[string]string {
	return map[string]string{labelApp: appName, LabelInstance: resource}
}

// PodsOfServers returns the selector of all resources' pods, including those of release 0.9.
func PodsOfServers() labels.Selector {
	named, _ := labels.NewRequirement(LabelInstance, selection.Exists, nil) // the label is valid
	return labels.SelectorFromSet(labels.Set{labelApp: appName}).Add(*named)
}

// NewPodsSelector returns the selector of pods of this operator's template; pods of release 0.9 lack its label.
func NewPodsSelector(resource string) map[string]string {
	selector := Selector(resource)
	selector[LabelManagedBy] = ManagedBy
	return selector
}

// SelectsNewPods reports whether a Service selects only pods of this operator's template.
func SelectsNewPods(service *corev1.Service, resource string) bool {
	return maps.Equal(service.Spec.Selector, NewPodsSelector(resource))
}

// HasNewPods reports whether NewPodsSelector selects the template's pods.
func HasNewPods(template *corev1.PodTemplateSpec) bool {
	return template.Labels[LabelManagedBy] == ManagedBy
}

// Selects reports whether a Deployment has the selector of the custom resource's pods.
func Selects(d *appsv1.Deployment, resource string) bool {
	return d.Spec.Selector != nil && len(d.Spec.Selector.MatchExpressions) == 0 &&
		maps.Equal(d.Spec.Selector.MatchLabels, Selector(resource))
}

// Labels returns the labels of every object of a resource.
func Labels(resource string) map[string]string {
	all := Selector(resource)
	maps.Copy(all, map[string]string{
		LabelManagedBy:              ManagedBy,
		"app.kubernetes.io/name":    appName,
		"app.kubernetes.io/part-of": appName,
	})
	return all
}

// ControllerRef returns the owner reference of a resource's objects.
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

// ResourceOfPod returns the custom resource of a pod with these labels.
func ResourceOfPod(all map[string]string) string { return all[LabelInstance] }

// OwnLabels returns the labels by which the operator finds its objects.
func OwnLabels(all map[string]string) map[string]string {
	own := map[string]string{}
	for _, key := range []string{LabelManagedBy, labelApp, LabelInstance} {
		if value, ok := all[key]; ok {
			own[key] = value
		}
	}
	return own
}
