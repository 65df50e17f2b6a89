// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Proves: R62, FR-064.
func TestEdgeIsRead(t *testing.T) {
	const full = `
kind: HTTPRoute
domain: apps.example.com
gateway: {name: public, namespace: gateways, sectionName: https}
ingressClassName: nginx
tlsSecretName: "{name}-tls"
annotations: {cert-manager.io/cluster-issuer: letsencrypt}
namespaces: [ingress-nginx]`
	for text, want := range map[string]settings.Edge{
		"":                {Kind: settings.EdgeAuto},
		"{}":              {Kind: settings.EdgeAuto},
		"kind: None":      {Kind: settings.EdgeNone},
		"domain: a.b.com": {Kind: settings.EdgeAuto, Domain: "a.b.com"},
		full: {
			Kind: settings.EdgeHTTPRoute, Domain: "apps.example.com", IngressClassName: "nginx", TLSSecretName: "{name}-tls",
			Gateway:     &settings.Gateway{Name: "public", Namespace: "gateways", SectionName: "https"},
			Annotations: map[string]string{"cert-manager.io/cluster-issuer": "letsencrypt"}, Namespaces: []string{"ingress-nginx"},
		},
	} {
		got := parse(t, map[string]string{settings.KeyEdge: text}).Edge
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	if e := parse(t, map[string]string{settings.KeyEdge: "namespaces: [" + strings.Repeat("a,", 50) + "]"}).Edge; e.Err != nil || len(e.Namespaces) != 50 {
		t.Errorf("as many namespaces as there may be: %+v", e)
	}
	e := parse(t, map[string]string{settings.KeyEdge: full}).Edge
	if got := e.SecretName("my-stack"); got != "my-stack-tls" {
		t.Errorf("Secret %s", got)
	}
}

// Proves: R62, R63 (a wrong setting affects only exposed servers and is ignored as a whole).
func TestInvalidEdgeIsReported(t *testing.T) {
	many := "namespaces: [" + strings.Repeat("a,", 60) + "]"
	for text, want := range map[string]string{
		"kind: Ingres":                                     `kind: Unsupported value: "Ingres": supported values: "Auto"`,
		"kind: HTTPRoute":                                  "gateway: Required value",
		"domain: '*.example.com'":                          `domain: Invalid value: "*.example.com": must be a DNS name`,
		"domain: 10.0.0.1":                                 `domain: Invalid value: "10.0.0.1": must be a DNS name`,
		"domain: " + strings.Repeat("a", 64) + ".com":      "must be a DNS name",
		"gateway: {name: A, namespace: b}":                 `gateway.name: Invalid value: "A"`,
		"gateway: {name: a}":                               `gateway.namespace: Invalid value: ""`,
		"gateway: {name: a, namespace: b, sectionName: _}": "gateway.sectionName: Invalid value",
		"ingressClassName: a/b":                            "ingressClassName: Invalid value",
		"tlsSecretName: '{nam}-tls'":                       "tlsSecretName: Invalid value",
		"annotations: {'a b': c}":                          "annotations: Invalid value",
		"namespaces: [a/b]":                                `namespaces[0]: Invalid value: "a/b"`,
		many:                                               "namespaces: Too many: 60",
		"hostname: a":                                      `hostname: unknown field: known fields: annotations, domain, `,
		"[]":                                               "expected a map, got a list",
	} {
		got := parse(t, map[string]string{settings.KeyEdge: text}).Edge
		if got.Err == nil || !strings.HasPrefix(got.Err.Error(), "ConfigMap llama-stack-operator-config, key edge: ") ||
			!strings.Contains(got.Err.Error(), want) {
			t.Errorf("%s: error %v, want %s", text, got.Err, want)
		}
		if got.Err = nil; !cmp.Equal(got, settings.Edge{}) {
			t.Errorf("%s: %+v counts", text, got)
		}
	}
}

// Proves: FR-065, R62.
func TestValidateHost(t *testing.T) {
	for host, valid := range map[string]bool{
		"llama.example.com": true, "a": true, "a-1.b": true, "1.example": true, strings.Repeat("a", 63) + ".com": true,
		"": false, "Llama.example.com": false, "*.example.com": false, "10.0.0.1": false, "::1": false, "a.example.com:8080": false,
		"https://a": false, "a/b": false, "a..b": false, "a.": false, "_a.b": false, strings.Repeat("a", 64) + ".com": false,
		strings.Repeat("a.", 127) + "a": false,
	} {
		if got := settings.ValidateHost(host); (len(got) == 0) != valid || !valid && !strings.Contains(got[0], "at most 253 characters, and 63") {
			t.Errorf("%s", fmt.Sprintf("%q: %v", host, got))
		}
	}
}
