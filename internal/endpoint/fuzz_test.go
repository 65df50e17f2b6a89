// SPDX-License-Identifier: Apache-2.0

package endpoint_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/endpoint"
)

// plainURL has nothing that a server or a configuration takes for more than an address.
var plainURL = regexp.MustCompile(`^https?://[A-Za-z0-9._:\[\]~%-]+(/[A-Za-z0-9._:\[\]/~%-]*)?/v1$`)

// FuzzModelServer reads an address from whatever stands in the status of one of KServe's objects.
//
// Proves: R63, R7 (no panic; either a plain address of bounded length, or a text that says what is missing and quotes nothing).
func FuzzModelServer(f *testing.F) {
	for _, seed := range []string{
		`{"address":{"url":"http://a.b.svc.cluster.local"}}`, `{"address":{"url":"https://a:443/v1/"},"addresses":[{"name":"internal","url":"http://${env.A}/"}]}`,
		`{"addresses":[{"name":"gateway-internal","url":"http://u:p@h"},{"url":"http://x.y.svc"},null,1]}`, `{"address":{"url":"http://[::1]:8080/%2e%2e/?a=b#c"}}`,
		`{"address":{"url":1},"addresses":{}}`, `{"address":`, "null", "", strings.Repeat("[", 100), `{"address":{"url":"http://h/` + strings.Repeat("a", 3000) + `"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, status []byte) {
		found := endpoint.OfModelServer(status)
		if found.URL == "" {
			if found.Missing == "" || found.Fix == "" || len(found.Missing) > 400 {
				t.Errorf("%+v", found)
			}
			return
		}
		u, err := url.Parse(found.URL)
		if err != nil || found.Missing != "" || len(found.URL) > 2100 || !plainURL.MatchString(found.URL) || u.User != nil || u.Hostname() == "" {
			t.Errorf("%+v, %v", found, err)
		}
	})
}
