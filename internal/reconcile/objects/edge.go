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

// Hostname returns the exposed host name: the resource's, else one in the setting's domain, else "". If it is empty,
// OpenShift's router generates one; an Ingress or HTTPRoute takes requests for every name.
func Hostname(cr *v1alpha2.LlamaStackDistribution, expose parse.Expose, edge *settings.Edge) string {
	generated := ""
	if edge.Domain != "" {
		generated = HostLabel(types.NamespacedName{Namespace: cr.Namespace, Name: cr.Name}) + "." + edge.Domain
	}
	return cmp.Or(expose.Hostname, generated)
}

// HostLabel returns the first label of a generated host name.
func HostLabel(resource types.NamespacedName) string { return resource.Name + "-" + resource.Namespace }

// EdgeAPIs are optional APIs of the cluster to expose servers.
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

func edgeObjectMeta(p *Params, name string) metav1.ObjectMeta {
	meta := objectMeta(p.CR, name)
	meta.Annotations = maps.Clone(p.Edge.Annotations)
	return meta
}
