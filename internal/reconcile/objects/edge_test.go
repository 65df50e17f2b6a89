// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Proves: FR-064, FR-065, US-5.1, US-5.2, R62 (host name, class, annotations and Secret come from the setting).
func TestIngressFollowsTheSetting(t *testing.T) {
	p := workload(t, "networking: {expose: true}")
	p.Edge = settings.Edge{
		Kind: settings.EdgeIngress, Domain: "apps.example.com", IngressClassName: "nginx", TLSSecretName: "{name}-tls",
		Annotations: map[string]string{"a.example/b": "c"},
	}
	i := objects.Ingress(p)
	host := "my-stack-" + p.CR.Namespace + ".apps.example.com"
	if got := i.Spec.Rules[0].Host; got != host {
		t.Errorf("host %s, want %s", got, host)
	}
	if *i.Spec.IngressClassName != "nginx" || i.Annotations["a.example/b"] != "c" {
		t.Errorf("class %s, annotations %v", *i.Spec.IngressClassName, i.Annotations)
	}
	if diff := cmp.Diff([]networkingv1.IngressTLS{{Hosts: []string{host}, SecretName: "my-stack-tls"}}, i.Spec.TLS); diff != "" {
		t.Errorf("TLS (-want +got):\n%s", diff)
	}
	i.Annotations["a.example/b"] = "changed"
	if p.Edge.Annotations["a.example/b"] != "c" {
		t.Error("the setting was changed")
	}
	named := workload(t, "networking: {expose: {hostname: a.example}}")
	named.Edge = p.Edge
	if got := objects.Ingress(named); got.Spec.Rules[0].Host != "a.example" || got.Spec.TLS[0].Hosts[0] != "a.example" {
		t.Errorf("the custom resource's own host does not win: %+v", got.Spec)
	}
	p.Edge.Domain = ""
	if got := objects.Ingress(p); got.Spec.Rules[0].Host != "" || got.Spec.TLS[0].Hosts != nil {
		t.Errorf("without a domain: %+v", got.Spec)
	}
	for _, kind := range []settings.EdgeKind{settings.EdgeRoute, settings.EdgeHTTPRoute, settings.EdgeNone} {
		if p.Edge.Kind = kind; objects.Ingress(p) != nil {
			t.Errorf("%s: an Ingress", kind)
		}
	}
}

// Proves: FR-066, FR-064 (the namespaces of the gateway or ingress controller have access).
func TestNetworkPolicyAllowsForwarders(t *testing.T) {
	names := func(expose string, edge settings.Edge) []string {
		p := workload(t, "networking: {allowedFrom: {namespaces: [a, mesh]}, expose: "+expose+"}")
		p.Edge = edge
		var list []string
		for _, peer := range objects.NetworkPolicy(p).Spec.Ingress[0].From {
			if peer.NamespaceSelector != nil && peer.NamespaceSelector.MatchLabels[corev1.LabelMetadataName] != "" {
				list = append(list, peer.NamespaceSelector.MatchLabels[corev1.LabelMetadataName])
			}
		}
		return list
	}
	gateway := settings.Edge{
		Kind: settings.EdgeHTTPRoute, Gateway: &settings.Gateway{Name: "g", Namespace: "gateways"}, Namespaces: []string{"envoy", "mesh", "gateways"},
	}
	ingress := settings.Edge{Kind: settings.EdgeIngress, Gateway: gateway.Gateway, Namespaces: []string{"nginx"}}
	for name, c := range map[string]struct {
		expose string
		edge   settings.Edge
		want   []string
	}{
		"HTTPRoute":   {"true", gateway, []string{"operator", "a", "mesh", "gateways", "envoy"}},
		"Ingress":     {"true", ingress, []string{"operator", "a", "mesh", "nginx"}},
		"not exposed": {"false", gateway, []string{"operator", "a", "mesh"}},
	} {
		if diff := cmp.Diff(c.want, names(c.expose, c.edge)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Proves: R62 (the URL appears once the ingress controller has admitted the Ingress, with https if it has TLS).
func TestExposedByIngress(t *testing.T) {
	for name, c := range map[string]struct {
		host, class string
		tls         bool
		at          []networkingv1.IngressLoadBalancerIngress
		want        objects.Exposure
	}{
		"not admitted": {"a.example", "", true, nil, objects.Exposure{
			Pending: "Ingress a-ingress has no address: no ingress controller of the default class has admitted it",
		}},
		"not admitted, with a class": {"a.example", "nginx", true, nil, objects.Exposure{
			Pending: "Ingress a-ingress has no address: no ingress controller of class nginx has admitted it",
		}},
		"host":            {"a.example", "", false, []networkingv1.IngressLoadBalancerIngress{{IP: "10.0.0.1"}}, objects.Exposure{URL: "http://a.example"}},
		"host and TLS":    {"a.example", "", true, []networkingv1.IngressLoadBalancerIngress{{IP: "10.0.0.1"}}, objects.Exposure{URL: "https://a.example"}},
		"address":         {"", "", false, []networkingv1.IngressLoadBalancerIngress{{IP: "10.0.0.1"}}, objects.Exposure{URL: "http://10.0.0.1"}},
		"IPv6":            {"", "", false, []networkingv1.IngressLoadBalancerIngress{{IP: "fd00::1"}}, objects.Exposure{URL: "http://[fd00::1]"}},
		"name of its own": {"", "", true, []networkingv1.IngressLoadBalancerIngress{{Hostname: "lb.example"}}, objects.Exposure{URL: "https://lb.example"}},
	} {
		i := &networkingv1.Ingress{}
		i.Name = "a-ingress"
		i.Spec.Rules = []networkingv1.IngressRule{{Host: c.host}}
		if c.class != "" {
			i.Spec.IngressClassName = &c.class
		}
		if c.tls {
			i.Spec.TLS = []networkingv1.IngressTLS{{}}
		}
		i.Status.LoadBalancer.Ingress = c.at
		if diff := cmp.Diff(c.want, objects.ExposedByIngress(i)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
