// SPDX-License-Identifier: Apache-2.0

package objects

import (
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// allWeight is the API's default weight of a Service that gets all requests.
const allWeight int32 = 100

// Route returns OpenShift's Route, or nil if it is not desired. It redirects plain requests to TLS.
func Route(p *Params) *routev1.Route {
	if !p.Expose.Enabled || p.Edge.Kind != settings.EdgeRoute {
		return nil
	}
	return &routev1.Route{
		TypeMeta:   metav1.TypeMeta{APIVersion: routev1.GroupVersion.String(), Kind: "Route"},
		ObjectMeta: edgeObjectMeta(p, names.RouteName(p.CR.Name)),
		Spec: routev1.RouteSpec{
			Host: Hostname(p.CR, p.Expose, &p.Edge),
			To: routev1.RouteTargetReference{
				Kind: "Service", Name: names.ServiceName(p.CR.Name), Weight: new(allWeight),
			},
			Port:           &routev1.RoutePort{TargetPort: intstr.FromString(names.ServicePortName)},
			WildcardPolicy: routev1.WildcardPolicyNone,
			TLS:            termination(p),
		},
	}
}

// termination returns the Route's TLS: edge for HTTP, passthrough for the server's certificate, else reencrypt.
func termination(p *Params) *routev1.TLSConfig {
	tls := &routev1.TLSConfig{Termination: routev1.TLSTerminationEdge,
		InsecureEdgeTerminationPolicy: routev1.InsecureEdgeTerminationPolicyRedirect}
	switch {
	case p.Scheme != corev1.URISchemeHTTPS:
	case p.Passthrough:
		tls.Termination = routev1.TLSTerminationPassthrough
	default:
		tls.Termination, tls.DestinationCACertificate = routev1.TLSTerminationReencrypt, p.ServerCA
	}
	if p.Expose.TLSSecretName != "" {
		tls.ExternalCertificate = &routev1.LocalObjectReference{Name: p.Expose.TLSSecretName}
	}
	return tls
}
