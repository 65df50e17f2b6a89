// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

var publicGateway = &settings.Gateway{Name: "public", Namespace: "gateways"}

// Proves: FR-064, FR-065, US-5.1, US-5.2, R62 (the router generates a missing host name, and termination follows the
// server's scheme).
func TestRoute(t *testing.T) {
	for name, c := range map[string]struct {
		networking string
		change     func(*objects.Params)
		host       string
		tls        routev1.TLSTerminationType
		ca         string
	}{
		"HTTP":        {"expose: true", func(*objects.Params) {}, "", routev1.TLSTerminationEdge, ""},
		"host":        {"expose: {hostname: a.example}", func(*objects.Params) {}, "a.example", routev1.TLSTerminationEdge, ""},
		"domain":      {"expose: true", func(p *objects.Params) { p.Edge.Domain = "b.example" }, "my-stack-default.b.example", routev1.TLSTerminationEdge, ""},
		"HTTPS":       {"expose: true", func(p *objects.Params) { p.Scheme, p.ServerCA = corev1.URISchemeHTTPS, "pem" }, "", routev1.TLSTerminationReencrypt, "pem"},
		"passthrough": {"expose: true", func(p *objects.Params) { p.Scheme, p.Passthrough = corev1.URISchemeHTTPS, true }, "", routev1.TLSTerminationPassthrough, ""},
	} {
		p := workload(t, "networking: {"+c.networking+"}")
		p.CR.Namespace, p.Edge.Kind = "default", settings.EdgeRoute
		c.change(p)
		r := objects.Route(p)
		if r.Spec.Host != c.host || r.Spec.TLS.Termination != c.tls || r.Spec.TLS.DestinationCACertificate != c.ca ||
			r.Spec.TLS.InsecureEdgeTerminationPolicy != routev1.InsecureEdgeTerminationPolicyRedirect {
			t.Errorf("%s: %+v, TLS %+v", name, r.Spec, r.Spec.TLS)
		}
		if r.Name != "my-stack-route" || r.Spec.To.Name != "my-stack-service" || r.Spec.Port.TargetPort.StrVal != "http" {
			t.Errorf("%s: leads to %+v", name, r.Spec)
		}
		if objects.Ingress(p) != nil || objects.HTTPRoute(p) != nil {
			t.Errorf("%s: more than a Route", name)
		}
	}
	p := workload(t, "networking: {expose: false}")
	if p.Edge.Kind = settings.EdgeRoute; objects.Route(p) != nil {
		t.Error("an unrequested Route")
	}
}

// Proves: FR-064, FR-065, US-5.1, US-5.2, R62.
func TestHTTPRoute(t *testing.T) {
	p := workload(t, "networking: {expose: {hostname: a.example}, port: 9000}")
	p.Edge = settings.Edge{Kind: settings.EdgeHTTPRoute, Gateway: &settings.Gateway{Name: "public", Namespace: "gateways", SectionName: "https"}}
	r := objects.HTTPRoute(p)
	parent, backend := r.Spec.ParentRefs[0], r.Spec.Rules[0].BackendRefs[0]
	if r.Name != "my-stack-httproute" || parent.Name != "public" || *parent.Namespace != "gateways" || *parent.SectionName != "https" {
		t.Errorf("%s attaches to %+v", r.Name, parent)
	}
	if backend.Name != "my-stack-service" || *backend.Port != 9000 || cmp.Diff([]gatewayv1.Hostname{"a.example"}, r.Spec.Hostnames) != "" {
		t.Errorf("%v leads to %+v", r.Spec.Hostnames, backend)
	}
	if objects.Ingress(p) != nil || objects.Route(p) != nil {
		t.Error("more than an HTTPRoute")
	}
	p = workload(t, "networking: {expose: true}")
	p.Edge = settings.Edge{Kind: settings.EdgeHTTPRoute, Gateway: publicGateway}
	if r := objects.HTTPRoute(p); r.Spec.Hostnames != nil || r.Spec.ParentRefs[0].SectionName != nil {
		t.Errorf("without host and listener: %+v", r.Spec)
	}
}

// Proves: R62 (the current Route must be admitted, and a rejection is reported).
func TestExposedByRoute(t *testing.T) {
	admitted := func(host string, status corev1.ConditionStatus) routev1.RouteIngress {
		return routev1.RouteIngress{Host: host, RouterName: "default", Conditions: []routev1.RouteIngressCondition{{
			Type: routev1.RouteAdmitted, Status: status, Reason: "HostAlreadyClaimed", Message: "older route",
		}}}
	}
	for name, c := range map[string]struct {
		host    string
		ingress []routev1.RouteIngress
		want    objects.Exposure
	}{
		"no router":   {"", nil, objects.Exposure{Pending: "Route r: no router has admitted it"}},
		"made host":   {"", []routev1.RouteIngress{admitted("r.apps", corev1.ConditionTrue)}, objects.Exposure{URL: "https://r.apps"}},
		"former host": {"b", []routev1.RouteIngress{admitted("a", corev1.ConditionTrue)}, objects.Exposure{Pending: "Route r: no router has admitted it"}},
		"rejected": {"a", []routev1.RouteIngress{admitted("a", corev1.ConditionFalse)}, objects.Exposure{
			Pending: "Route r: router default rejected it: HostAlreadyClaimed: older route",
		}},
		"one of two": {"a", []routev1.RouteIngress{admitted("a", corev1.ConditionFalse), admitted("a", corev1.ConditionTrue)}, objects.Exposure{URL: "https://a"}},
	} {
		r := &routev1.Route{Spec: routev1.RouteSpec{Host: c.host, TLS: &routev1.TLSConfig{}}, Status: routev1.RouteStatus{Ingress: c.ingress}}
		r.Name = "r"
		if diff := cmp.Diff(c.want, objects.ExposedByRoute(r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Proves: R62 (the Gateway must have admitted the current HTTPRoute; the URL has scheme, port and host of its
// listener).
func TestExposedByHTTPRoute(t *testing.T) {
	accepted := func(generation int64, status metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{
			{Type: "Accepted", Status: status, Reason: "NotAllowedByListeners", Message: "no", ObservedGeneration: generation},
			{Type: "ResolvedRefs", Status: "True", ObservedGeneration: generation},
		}
	}
	plain := gatewayv1.Listener{Name: "http", Protocol: gatewayv1.HTTPProtocolType, Port: 80}
	encrypted := gatewayv1.Listener{Name: "https", Protocol: gatewayv1.HTTPSProtocolType, Port: 8443}
	for name, c := range map[string]struct {
		host, section string
		conditions    []metav1.Condition
		listeners     []gatewayv1.Listener
		want          string
	}{
		"no status":        {"a", "", nil, []gatewayv1.Listener{plain}, "HTTPRoute r: Gateway gateways/public has not admitted it"},
		"former edit":      {"a", "", accepted(1, "True"), []gatewayv1.Listener{plain}, "HTTPRoute r: Gateway gateways/public has not admitted it"},
		"rejected":         {"a", "", accepted(2, "False"), []gatewayv1.Listener{plain}, "HTTPRoute r: Gateway gateways/public rejected it: NotAllowedByListeners: no"},
		"plain":            {"a", "", accepted(2, "True"), []gatewayv1.Listener{plain}, "http://a"},
		"encrypted first":  {"a", "", accepted(2, "True"), []gatewayv1.Listener{plain, encrypted}, "https://a:8443"},
		"section":          {"a", "http", accepted(2, "True"), []gatewayv1.Listener{encrypted, plain}, "http://a"},
		"no such listener": {"a", "x", accepted(2, "True"), []gatewayv1.Listener{plain}, "HTTPRoute r: Gateway gateways/public has no listener for HTTP or HTTPS"},
		"address":          {"", "", accepted(2, "True"), []gatewayv1.Listener{plain}, "http://192.0.2.1"},
	} {
		r := &gatewayv1.HTTPRoute{}
		r.Name, r.Namespace, r.Generation = "r", "ai", 2
		parent := gatewayv1.ParentReference{Name: "public", Namespace: new(gatewayv1.Namespace("gateways"))}
		if c.section != "" {
			parent.SectionName = new(gatewayv1.SectionName(c.section))
		}
		r.Spec.ParentRefs = []gatewayv1.ParentReference{parent}
		if c.host != "" {
			r.Spec.Hostnames = []gatewayv1.Hostname{gatewayv1.Hostname(c.host)}
		}
		if c.conditions != nil {
			r.Status.Parents = []gatewayv1.RouteParentStatus{{ParentRef: parent, Conditions: c.conditions}}
		}
		g := &gatewayv1.Gateway{Spec: gatewayv1.GatewaySpec{Listeners: c.listeners}}
		g.Status.Addresses = []gatewayv1.GatewayStatusAddress{{Value: "192.0.2.1"}}
		want := objects.Exposure{Pending: c.want}
		if strings.HasPrefix(c.want, "http") {
			want = objects.Exposure{URL: c.want}
		}
		if diff := cmp.Diff(want, objects.ExposedByHTTPRoute(r, g)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got := objects.ExposedByHTTPRoute(r, nil); got.URL != "" || got.Pending != "HTTPRoute r: Gateway gateways/public does not exist" {
			t.Errorf("%s without a Gateway: %+v", name, got)
		}
	}
}
