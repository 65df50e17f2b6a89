// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"

	routev1 "github.com/openshift/api/route/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// observeEdge reads the URL or the pending reason from the object that exposes the server.
func (r *Reconciler) observeEdge(ctx context.Context, s *scope) {
	if s.desired == nil || !s.desired.Expose.Enabled {
		return
	}
	own := func(o client.Object, name string) bool {
		err := r.client.Get(ctx, client.ObjectKey{Namespace: s.cr.Namespace, Name: name}, o)
		return err == nil && metav1.IsControlledBy(o, s.cr)
	}
	switch apis := r.applier.EdgeAPIs; s.desired.Edge.Kind {
	case settings.EdgeIngress:
		ingress := &networkingv1.Ingress{}
		if own(ingress, names.IngressName(s.cr.Name)) {
			s.exposure = objects.ExposedByIngress(ingress)
		}
	case settings.EdgeRoute:
		route := &routev1.Route{}
		if apis.Route && own(route, names.RouteName(s.cr.Name)) {
			s.exposure = objects.ExposedByRoute(route)
		}
	case settings.EdgeHTTPRoute:
		route := &gatewayv1.HTTPRoute{}
		if apis.HTTPRoute && own(route, names.HTTPRouteName(s.cr.Name)) {
			s.exposure = r.exposedByGateway(ctx, route)
			r.observePeers(ctx, s)
		}
	case settings.EdgeAuto, settings.EdgeNone:
	}
}

// observePeers takes the URL from the HTTPRoute of a peer if the Gateway does not accept the own one: of several with
// the same host name, some Gateways accept only the oldest, which has the Services of all.
func (r *Reconciler) observePeers(ctx context.Context, s *scope) {
	for _, name := range s.desired.Peers {
		if s.exposure.URL != "" {
			return
		}
		route := &gatewayv1.HTTPRoute{}
		key := client.ObjectKey{Namespace: s.cr.Namespace, Name: names.HTTPRouteName(name)}
		if r.client.Get(ctx, key, route) != nil {
			continue // not made yet
		}
		if exposure := r.exposedByGateway(ctx, route); exposure.URL != "" {
			s.exposure = exposure
		}
	}
}

// exposedByGateway reads the Gateway live: an administrator owns it, in any namespace.
func (r *Reconciler) exposedByGateway(ctx context.Context, route *gatewayv1.HTTPRoute) objects.Exposure {
	if len(route.Spec.ParentRefs) == 0 {
		return objects.Exposure{}
	}
	parent := route.Spec.ParentRefs[0]
	key := client.ObjectKey{Namespace: string(ptr.Deref(parent.Namespace, "")), Name: string(parent.Name)}
	gateway := &gatewayv1.Gateway{}
	switch err := r.live.Get(ctx, key, gateway); {
	case apierrors.IsNotFound(err):
		return objects.ExposedByHTTPRoute(route, nil)
	case err != nil:
		logf.FromContext(ctx).Error(err, "cannot read the Gateway", "gateway", key.String())
		return objects.Exposure{Pending: "Gateway " + key.String() + " cannot be read"}
	}
	return objects.ExposedByHTTPRoute(route, gateway)
}
