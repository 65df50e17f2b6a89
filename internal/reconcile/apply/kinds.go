// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"slices"

	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// InstanceIndex indexes owned objects and pods in the cache by custom resource.
const InstanceIndex = "instance"

// Instance returns the value of an object in InstanceIndex.
func Instance(o client.Object) []string {
	if name, ok := o.GetLabels()[names.LabelInstance]; ok {
		return []string{name}
	}
	return nil
}

// OwnedKinds returns the kinds that a resource owns in their cached form: full objects, or metadata.
func OwnedKinds() []client.Object {
	return append(FullKinds(), ConfigMapMetadata(), SecretMetadata())
}

// FullKinds returns the owned kinds that are cached as full objects, if they have the operator's label.
func FullKinds() []client.Object {
	return []client.Object{
		&corev1.ServiceAccount{}, &corev1.PersistentVolumeClaim{}, &appsv1.Deployment{}, &corev1.Service{},
		&autoscalingv2.HorizontalPodAutoscaler{}, &policyv1.PodDisruptionBudget{}, &networkingv1.NetworkPolicy{},
		&networkingv1.Ingress{},
	}
}

// EdgeKinds returns the owned kinds of the given optional APIs, cached like FullKinds.
func EdgeKinds(apis objects.EdgeAPIs) []client.Object {
	kinds, _ := edgeKinds(apis)
	return kinds
}

func edgeKinds(apis objects.EdgeAPIs) (kinds []client.Object, lists []client.ObjectList) {
	if apis.Route {
		kinds, lists = append(kinds, &routev1.Route{}), append(lists, &routev1.RouteList{})
	}
	if apis.HTTPRoute {
		kinds, lists = append(kinds, &gatewayv1.HTTPRoute{}), append(lists, &gatewayv1.HTTPRouteList{})
	}
	return kinds, lists
}

// prunedLists returns lists of the pruned kinds, routing first and protection last, without PVCs.
func prunedLists() []client.ObjectList {
	return []client.ObjectList{
		&networkingv1.IngressList{}, &corev1.ServiceList{}, &autoscalingv2.HorizontalPodAutoscalerList{},
		&appsv1.DeploymentList{},
		&corev1.ServiceAccountList{}, &policyv1.PodDisruptionBudgetList{}, &networkingv1.NetworkPolicyList{},
	}
}

// generatedKinds are the kinds of immutable objects that are named by their content; the cache holds their metadata.
var generatedKinds = []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	corev1.SchemeGroupVersion.WithKind("Secret")}

func isGenerated(gvk schema.GroupVersionKind) bool { return slices.Contains(generatedKinds, gvk) }

// ConfigMapMetadata returns an empty ConfigMap for reading metadata only.
func ConfigMapMetadata() *metav1.PartialObjectMetadata {
	return MetadataOf(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
}

// SecretMetadata returns an empty Secret for reading metadata only.
func SecretMetadata() *metav1.PartialObjectMetadata {
	return MetadataOf(corev1.SchemeGroupVersion.WithKind("Secret"))
}

// MetadataOf returns an empty object of the kind for reading metadata only.
func MetadataOf(gvk schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(gvk)
	return m
}
