// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"net/http"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// RefuseRedirects returns a round tripper that fails where a server sends the client elsewhere. What follows a redirect
// would take the user's question or token to an address that the server chose, which may be one that only this machine
// reaches.
func RefuseRedirects(next http.RoundTripper) http.RoundTripper { return withoutRedirects{next} }

type withoutRedirects struct{ next http.RoundTripper }

// RoundTrip makes one request.
func (t withoutRedirects) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if to := response.Header.Get("Location"); to != "" && response.StatusCode >= 300 && response.StatusCode < 400 {
		_ = response.Body.Close()
		return nil, fmt.Errorf("the server answers %s, a redirect to %q, which is not followed", response.Status,
			limits.Message(to))
	}
	return response, nil
}

// WrappedRoundTripper returns the round tripper below, which client-go looks for.
func (t withoutRedirects) WrappedRoundTripper() http.RoundTripper { return t.next }
