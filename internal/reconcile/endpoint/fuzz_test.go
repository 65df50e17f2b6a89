// SPDX-License-Identifier: Apache-2.0

package endpoint_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/endpoint"
)

// service matches the host of a Service, with or without the usual cluster domain.
var service = regexp.MustCompile(`(?i)^[a-z0-9-]+\.[a-z0-9-]+\.svc(\.cluster\.local)?$`)

// Proves: R7, R63 (an address without TLS is that of a Service, and no address reads the environment or is more than a
// URL).
func FuzzOfModelServer(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, `{"address":{"url":"http://m.ns.svc"}}`, `{"address":{"url":"http://m.ns.svc.evil.example:80/v1"}}`,
		`{"addresses":[{"name":"internal","url":"https://u:p@a"},{"url":"http://a.b.svc.cluster.local/${env.X}"}]}`,
		`{"address":{"url":"http://[::1%25a.b.svc]/"}}`, `{"address":{"url":"HTTP://a.b.SVC/%2f"}}`, `{"address":{"url":"http:a.b.svc"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, status []byte) {
		got := endpoint.OfModelServer(status)
		if got.URL == "" {
			if got.Problem == "" || got.Fix == "" {
				t.Errorf("no address and no reason: %+v", got)
			}
			return
		}
		u, err := url.Parse(got.URL)
		if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(got.URL, "${}\n\r\"' ") ||
			!strings.HasSuffix(u.EscapedPath(), "/v1") || len(got.URL) > 3000 {
			t.Fatalf("%q is not a plain URL: %v", got.URL, err)
		}
		if u.Scheme != "https" && (u.Scheme != "http" || !service.MatchString(u.Hostname())) {
			t.Errorf("%q leads out of the cluster without TLS", got.URL)
		}
	})
}
