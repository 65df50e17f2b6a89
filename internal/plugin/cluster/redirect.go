// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"net/http"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// RejectRedirects returns a round tripper that fails on redirects, which could send a question or token to an address
// chosen by the server.
func RejectRedirects(next http.RoundTripper) http.RoundTripper { return noRedirects{next} }

type noRedirects struct{ next http.RoundTripper }

func (t noRedirects) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if to := response.Header.Get("Location"); to != "" && response.StatusCode >= 300 && response.StatusCode < 400 {
		_ = response.Body.Close()
		return nil, fmt.Errorf("the server answers %s, a redirect to %q, which the command does not follow", response.Status,
			limits.Message(to))
	}
	return response, nil
}

// WrappedRoundTripper returns the wrapped round tripper, for client-go.
func (t noRedirects) WrappedRoundTripper() http.RoundTripper { return t.next }
