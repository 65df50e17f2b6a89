// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"errors"
	"maps"

	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Hostname is the host name under which the resource is exposed: the one that it names, else one made of its name and
// namespace in the domain of the setting. It is empty where there is neither: then OpenShift's router makes one, and an
// Ingress or HTTPRoute takes the requests for every name that reaches it.
func Hostname(cr *v1alpha2.LlamaStackDistribution, expose parse.Expose, edge *settings.Edge) string {
	made := ""
	if edge.Domain != "" {
		made = HostLabel(types.NamespacedName{Namespace: cr.Namespace, Name: cr.Name}) + "." + edge.Domain
	}
	return cmp.Or(expose.Hostname, made)
}

// HostLabel is what comes before the domain of the operator's settings in the host name of a custom resource that names
// none.
func HostLabel(resource types.NamespacedName) string { return resource.Name + "-" + resource.Namespace }

// EdgeAPIs are the APIs of the cluster that it may lack, and that servers can be exposed by.
type EdgeAPIs struct {
	// Route is OpenShift's API of Routes.
	Route bool
	// HTTPRoute is the Gateway API.
	HTTPRoute bool
}

// AddToScheme adds the types of EdgeAPIs to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	return errors.Join(routev1.Install(scheme), gatewayv1.Install(scheme))
}

// edgeStamp is the metadata of what exposes the server.
func edgeStamp(p *Params, name string) metav1.ObjectMeta {
	meta := stamp(p.CR, name)
	meta.Annotations = maps.Clone(p.Edge.Annotations)
	return meta
}
