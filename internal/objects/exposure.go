// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
)

// Exposure is what is known of the way in from outside of the cluster.
type Exposure struct {
	// URL is where the server is reached; empty while the edge has not admitted it.
	URL string
	// Pending says what the URL waits for; empty where it waits for nothing.
	Pending string
}

// ExposedByIngress reads from an Ingress whether an ingress controller has admitted it: then it has an address.
func ExposedByIngress(i *networkingv1.Ingress) Exposure {
	if len(i.Status.LoadBalancer.Ingress) == 0 {
		class := "the default class"
		if i.Spec.IngressClassName != nil {
			class = "class " + *i.Spec.IngressClassName
		}
		return Exposure{Pending: "Ingress " + i.Name + " has no address: no ingress controller of " + class + " has admitted it"}
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

// bracketed is an address as it stands in a URL.
func bracketed(address string) string {
	if strings.Contains(address, ":") {
		return "[" + address + "]"
	}
	return address
}
