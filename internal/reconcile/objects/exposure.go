// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"strconv"
	"strings"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// Exposure is the state of access from outside of the cluster.
type Exposure struct {
	// URL is the server's public URL; empty until the edge admits it.
	URL string
	// Pending is the reason why the URL is empty.
	Pending string
}

// ExposedByIngress returns the exposure by an Ingress, which is admitted once it has an address.
func ExposedByIngress(i *networkingv1.Ingress) Exposure {
	if len(i.Status.LoadBalancer.Ingress) == 0 {
		class := "the default class"
		if i.Spec.IngressClassName != nil {
			class = "class " + *i.Spec.IngressClassName
		}
		return Exposure{Pending: "Ingress " + i.Name + " has no address: no ingress controller of " + class + " has " +
			"admitted it"}
	}
	at := i.Status.LoadBalancer.Ingress[0]
	host := cmp.Or(at.Hostname, bracketed(at.IP))
	if len(i.Spec.Rules) > 0 {
		host = cmp.Or(i.Spec.Rules[0].Host, host)
	}
	if len(i.Spec.TLS) > 0 {
		return Exposure{URL: "https://" + host}
	}
	return Exposure{URL: "http://" + host}
}

// ExposedByRoute returns the exposure by a Route, once a router admitted it.
func ExposedByRoute(r *routev1.Route) Exposure {
	pending := "Route " + r.Name + ": no router has admitted it"
	for i := range r.Status.Ingress {
		ingress := &r.Status.Ingress[i]
		for _, c := range ingress.Conditions {
			switch {
			case c.Type != routev1.RouteAdmitted:
			case c.Status != corev1.ConditionTrue:
				pending = "Route " + r.Name + ": router " + ingress.RouterName + " rejected it: " +
					limits.Message(c.Reason+": "+c.Message)
			case r.Spec.Host != "" && ingress.Host != r.Spec.Host: // a former host name
			default:
				if r.Spec.TLS == nil {
					return Exposure{URL: "http://" + ingress.Host}
				}
				return Exposure{URL: "https://" + ingress.Host}
			}
		}
	}
	return Exposure{Pending: pending}
}

// ExposedByHTTPRoute returns the exposure by an HTTPRoute, with scheme and port of its Gateway, which may be nil.
func ExposedByHTTPRoute(r *gatewayv1.HTTPRoute, gateway *gatewayv1.Gateway) Exposure {
	if len(r.Spec.ParentRefs) == 0 {
		return Exposure{}
	}
	parent := r.Spec.ParentRefs[0]
	name := string(ptr.Deref(parent.Namespace, "")) + "/" + string(parent.Name)
	if gateway == nil {
		return Exposure{Pending: "HTTPRoute " + r.Name + ": Gateway " + name + " does not exist"}
	}
	if pending := notAccepted(r, &parent); pending != "" {
		return Exposure{Pending: "HTTPRoute " + r.Name + ": Gateway " + name + pending}
	}
	host := ""
	if len(r.Spec.Hostnames) > 0 {
		host = string(r.Spec.Hostnames[0])
	}
	listener := listenerFor(gateway, parent.SectionName)
	if listener == nil {
		return Exposure{Pending: "HTTPRoute " + r.Name + ": Gateway " + name + " has no listener for HTTP or HTTPS"}
	}
	if own := string(ptr.Deref(listener.Hostname, "")); host == "" && !strings.HasPrefix(own, "*") {
		host = own
	}
	if host == "" && len(gateway.Status.Addresses) > 0 {
		host = bracketed(gateway.Status.Addresses[0].Value)
	}
	if host == "" {
		return Exposure{Pending: "Gateway " + name + " has no address"}
	}
	scheme, usual := "http", gatewayv1.PortNumber(80)
	if listener.Protocol != gatewayv1.HTTPProtocolType {
		scheme, usual = "https", 443
	}
	if listener.Port != usual {
		host += ":" + strconv.Itoa(int(listener.Port))
	}
	return Exposure{URL: scheme + "://" + host}
}

// notAccepted returns why the parent does not serve the current route, or "".
func notAccepted(r *gatewayv1.HTTPRoute, parent *gatewayv1.ParentReference) string {
	for i := range r.Status.Parents {
		status := &r.Status.Parents[i]
		if status.ParentRef.Name != parent.Name || ptr.Deref(status.ParentRef.Namespace,
			gatewayv1.Namespace(r.Namespace)) != ptr.Deref(parent.Namespace, "") {
			continue
		}
		for _, kind := range []gatewayv1.RouteConditionType{gatewayv1.RouteConditionAccepted,
			gatewayv1.RouteConditionResolvedRefs} {
			c := meta.FindStatusCondition(status.Conditions, string(kind))
			switch {
			case c == nil || c.ObservedGeneration < r.Generation:
				return " has not admitted it"
			case c.Status != metav1.ConditionTrue:
				return " rejected it: " + limits.Message(c.Reason+": "+c.Message)
			}
		}
		return ""
	}
	return " has not admitted it"
}

// listenerFor returns the clients' listener: HTTPS, else HTTP, in the given section if any.
func listenerFor(gateway *gatewayv1.Gateway, section *gatewayv1.SectionName) *gatewayv1.Listener {
	var plain *gatewayv1.Listener
	for i := range gateway.Spec.Listeners {
		l := &gateway.Spec.Listeners[i]
		switch {
		case section != nil && l.Name != *section:
		case l.Protocol == gatewayv1.HTTPSProtocolType:
			return l
		case l.Protocol == gatewayv1.HTTPProtocolType && plain == nil:
			plain = l
		}
	}
	return plain
}

func bracketed(address string) string {
	if strings.Contains(address, ":") {
		return "[" + address + "]"
	}
	return address
}
