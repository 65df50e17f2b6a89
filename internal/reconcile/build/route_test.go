// SPDX-License-Identifier: Apache-2.0

package build

import (
	"testing"

	routev1 "github.com/openshift/api/route/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: FR-064, FR-065, US-5.2, R61 (the router terminates TLS unless only the server has the certificate that
// clients expect).
func TestTerminationOfTheRouteFollowsTheCertificate(t *testing.T) {
	const host = "llama.example.com"
	ca := framework.NewCA(t)
	own, both := ca.ServerSecret([]string{serviceHost}), ca.ServerSecret([]string{serviceHost, host})
	override := func(server string) func(*Inputs) {
		return func(in *Inputs) {
			in.CR.Spec.OverrideConfig = &v1alpha2.OverrideConfigSpec{ConfigMapName: "own"}
			findOverride(t, in, "version: 2\nserver: "+server+"\n")
		}
	}
	const mounted = "tls_certfile: /etc/llama-stack-tls/tls.crt, tls_keyfile: /etc/llama-stack-tls/tls.key"
	for name, c := range map[string]struct {
		data   map[string][]byte // nil: without TLS
		expose string
		domain string
		edit   func(*Inputs)
		want   routev1.TLSTerminationType
		ca     string
	}{
		"plain HTTP":                              {nil, "{hostname: " + host + "}", "", nil, routev1.TLSTerminationEdge, ""},
		"certificate for the Service":             {own, "{hostname: " + host + "}", "", nil, routev1.TLSTerminationReencrypt, string(own["ca.crt"])},
		"certificate for the host name":           {both, "{hostname: " + host + "}", "", nil, routev1.TLSTerminationPassthrough, ""},
		"certificate for another host name":       {both, "{hostname: other.example.com}", "", nil, routev1.TLSTerminationReencrypt, string(both["ca.crt"])},
		"host name that the router makes":         {both, "true", "", nil, routev1.TLSTerminationReencrypt, string(both["ca.crt"])},
		"host name in the domain of the settings": {ca.ServerSecret([]string{serviceHost, "*.example.com"}), "true", "example.com", nil, routev1.TLSTerminationPassthrough, ""},
		"without a CA in the Secret":              {map[string][]byte{"tls.crt": own["tls.crt"], "tls.key": own["tls.key"]}, "true", "", nil, routev1.TLSTerminationReencrypt, ""},
		"certificate that the operator does not know": {
			own, "true", "", override("{tls_certfile: /a, tls_keyfile: /b}"), routev1.TLSTerminationPassthrough, "",
		},
		"certificates of clients": {own, "true", "", override("{" + mounted + ", tls_cafile: /c}"), routev1.TLSTerminationPassthrough, ""},
		"override with the same":  {own, "true", "", override("{" + mounted + "}"), routev1.TLSTerminationReencrypt, string(own["ca.crt"])},
	} {
		t.Run(name, func(t *testing.T) {
			in := withTLS(t, own)
			if c.data == nil {
				in.CR.Spec.Networking.TLS, in.Certificate = nil, nil
			} else {
				setCertificate(in, c.data)
			}
			in.CR.Spec.Networking.Expose = exposed(t, c.expose, settings.Edge{}).CR.Spec.Networking.Expose
			in.Edge, in.EdgeAPIs = settings.Edge{Kind: settings.EdgeRoute, Domain: c.domain}, objects.EdgeAPIs{Route: true}
			if c.edit != nil {
				c.edit(in)
			}
			var route *routev1.Route
			for _, o := range build(t, in).Objects {
				if r, ok := o.(*routev1.Route); ok {
					route = r
				}
			}
			if route == nil || route.Spec.TLS.Termination != c.want || route.Spec.TLS.DestinationCACertificate != c.ca {
				t.Errorf("%+v, want %s", route, c.want)
			}
		})
	}
}
