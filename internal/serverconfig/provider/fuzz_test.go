// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// FuzzResolveEndpoint resolves arbitrary endpoints without a panic. An accepted URL has a valid scheme, no user
// information, and the user's text; messages do not quote it.
//
// Proves: R11, R33, NFR-004.
func FuzzResolveEndpoint(f *testing.F) {
	for _, endpoint := range []string{
		"http://vllm:8000", "https://x.example/v1?a=b#c", "${env.URL}", "http://${env.HOST:=h}:${env.PORT}/", "http://me:hunter2@x", "x:1", "http://[::1]:8000", "",
	} {
		f.Add(endpoint)
	}
	row := &catalog.Endpoint{Field: "base_url", Kind: catalog.EndpointURL, DefaultPath: "/v1"}
	f.Fuzz(func(t *testing.T, endpoint string) {
		var found problem.Collector
		resolved := ""
		if values := ResolveEndpoint(endpoint, "spec.x", row, &found); len(values) > 0 {
			resolved = document.Text(values[0].Node)
		}
		for _, p := range found.List() {
			if p.Path == "" || p.Detail == "" || p.Fix == "" {
				t.Errorf("incomplete problem %+v", p)
			}
			if len(endpoint) > 30 && strings.Contains(p.String(), endpoint) {
				t.Error("the message shows the endpoint")
			}
		}
		if len(found.List()) > 0 || strings.HasPrefix(endpoint, "${env.") {
			return
		}
		references := document.References
		if !slices.Equal(references(endpoint), references(resolved)) {
			t.Errorf("the references of %q and %q differ", endpoint, resolved)
		}
		u, err := url.Parse(document.MaskReferences(resolved))
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil || u.Path == "" {
			t.Errorf("%q became %q, which is not a URL with scheme, host and path: %v", endpoint, resolved, err)
		}
	})
}
