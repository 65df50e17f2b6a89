// SPDX-License-Identifier: Apache-2.0

package objects

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// HTTPRoute returns the HTTPRoute, or nil if it is not desired, with the API server's defaults for comparisons.
func HTTPRoute(p *Params) *gatewayv1.HTTPRoute {
	if !p.Expose.Enabled || p.Edge.Kind != settings.EdgeHTTPRoute || p.Edge.Gateway == nil {
		return nil
	}
	gateway := p.Edge.Gateway
	parent := gatewayv1.ParentReference{
		Group: new(gatewayv1.Group(gatewayv1.GroupName)), Kind: new(gatewayv1.Kind("Gateway")),
		Namespace: new(gatewayv1.Namespace(gateway.Namespace)), Name: gatewayv1.ObjectName(gateway.Name),
	}
	if gateway.SectionName != "" {
		parent.SectionName = new(gatewayv1.SectionName(gateway.SectionName))
	}
	route := &gatewayv1.HTTPRoute{
		TypeMeta:   metav1.TypeMeta{APIVersion: gatewayv1.GroupVersion.String(), Kind: "HTTPRoute"},
		ObjectMeta: edgeObjectMeta(p, names.HTTPRouteName(p.CR.Name)),
		Spec: gatewayv1.HTTPRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{parent}},
			Rules: []gatewayv1.HTTPRouteRule{{
				Matches: []gatewayv1.HTTPRouteMatch{{
					Path: &gatewayv1.HTTPPathMatch{Type: new(gatewayv1.PathMatchPathPrefix), Value: new("/")},
				}},
				BackendRefs: backends(p),
			}},
		},
	}
	if host := Hostname(p.CR, p.Expose, &p.Edge); host != "" {
		route.Spec.Hostnames = []gatewayv1.Hostname{gatewayv1.Hostname(host)}
	}
	return route
}

// backends returns the Services that share the requests, or only the own one.
func backends(p *Params) []gatewayv1.HTTPBackendRef {
	shares := p.Shares
	if len(shares) == 0 {
		shares = []Share{{Name: p.CR.Name, Weight: 1, Port: Port(&p.CR.Spec)}}
	}
	list := make([]gatewayv1.HTTPBackendRef, len(shares))
	for i, share := range shares {
		list[i].BackendRef = gatewayv1.BackendRef{
			BackendObjectReference: gatewayv1.BackendObjectReference{
				Group: new(gatewayv1.Group("")), Kind: new(gatewayv1.Kind("Service")),
				Name: gatewayv1.ObjectName(names.ServiceName(share.Name)), Port: new(share.Port),
			},
			Weight: new(share.Weight),
		}
	}
	return list
}
