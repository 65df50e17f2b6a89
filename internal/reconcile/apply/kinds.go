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

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// InstanceIndex indexes owned objects and pods in the cache by the custom resource that they are for.
const InstanceIndex = "instance"

// Instance returns the value of an object in InstanceIndex.
func Instance(o client.Object) []string {
	if name, ok := o.GetLabels()[objects.LabelInstance]; ok {
		return []string{name}
	}
	return nil
}

// OwnedKinds are the kinds of objects that a resource owns, as the caches hold them: full objects of what the operator
// labels as its own, metadata alone of ConfigMaps and Secrets, which may be anyone's and large.
func OwnedKinds() []client.Object {
	return append(FullKinds(), ConfigMapMetadata(), SecretMetadata())
}

// FullKinds are the owned kinds that are cached as full objects, restricted to those that the operator labels as its
// own.
func FullKinds() []client.Object {
	return []client.Object{
		&corev1.ServiceAccount{}, &corev1.PersistentVolumeClaim{}, &appsv1.Deployment{}, &corev1.Service{},
		&autoscalingv2.HorizontalPodAutoscaler{}, &policyv1.PodDisruptionBudget{}, &networkingv1.NetworkPolicy{},
		&networkingv1.Ingress{},
	}
}

// EdgeKinds are the owned kinds that a cluster may lack, of the APIs that it has. They are cached as FullKinds are.
func EdgeKinds(apis objects.EdgeAPIs) []client.Object {
	kinds, _ := edgeKinds(apis)
	return kinds
}

// edgeKinds are EdgeKinds and their lists.
func edgeKinds(apis objects.EdgeAPIs) (kinds []client.Object, lists []client.ObjectList) {
	if apis.Route {
		kinds, lists = append(kinds, &routev1.Route{}), append(lists, &routev1.RouteList{})
	}
	if apis.HTTPRoute {
		kinds, lists = append(kinds, &gatewayv1.HTTPRoute{}), append(lists, &gatewayv1.HTTPRouteList{})
	}
	return kinds, lists
}

// prunedLists are lists of the kinds that are removed when nobody wants them any more, in the order of removal: what
// leads to the pods first, what protects them last. A PVC is not among them: it holds data, and goes only with the
// resource.
func prunedLists() []client.ObjectList {
	return []client.ObjectList{
		&networkingv1.IngressList{}, &corev1.ServiceList{}, &autoscalingv2.HorizontalPodAutoscalerList{},
		&appsv1.DeploymentList{},
		&corev1.ServiceAccountList{}, &policyv1.PodDisruptionBudgetList{}, &networkingv1.NetworkPolicyList{},
	}
}

// generatedKinds are the kinds of what is made of content, named by it and immutable. They are cached as metadata only.
var generatedKinds = []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	corev1.SchemeGroupVersion.WithKind("Secret")}

func isGenerated(gvk schema.GroupVersionKind) bool { return slices.Contains(generatedKinds, gvk) }

// ConfigMapMetadata returns an empty ConfigMap of which only the metadata is read.
func ConfigMapMetadata() *metav1.PartialObjectMetadata {
	return MetadataOf(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
}

// SecretMetadata returns an empty Secret of which only the metadata is read.
func SecretMetadata() *metav1.PartialObjectMetadata {
	return MetadataOf(corev1.SchemeGroupVersion.WithKind("Secret"))
}

// MetadataOf returns an empty object of the kind, of which only the metadata is read.
func MetadataOf(gvk schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(gvk)
	return m
}
