// SPDX-License-Identifier: Apache-2.0

package reconnect

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-logr/logr"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var errRefused = errors.New("connection refused")

// Proves: L-30 (the requests of caches wait for the API server; all others fail at once, and an answer is an answer).
func TestOnlyRequestsOfCachesWait(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method, url string
		deadline    bool
		refused     int // how often, until somebody answers
		status      int
		asked       int
		fails       bool
	}{
		"a watch":                  {method: http.MethodGet, url: "/pods?watch=true", refused: 3, status: 200, asked: 4},
		"a list of a cache":        {method: http.MethodGet, url: "/pods?limit=500&resourceVersion=0", refused: 3, status: 200, asked: 4},
		"an error of the server":   {method: http.MethodGet, url: "/pods?watch=true", refused: 1, status: 503, asked: 2},
		"a read":                   {method: http.MethodGet, url: "/pods/a", refused: 3, asked: 1, fails: true},
		"a list that is not cache": {method: http.MethodGet, url: "/pods?limit=500", refused: 3, asked: 1, fails: true},
		"a write":                  {method: http.MethodPatch, url: "/pods/a?resourceVersion=1", refused: 3, asked: 1, fails: true},
		"a request with deadline":  {method: http.MethodGet, url: "/pods?watch=true", deadline: true, refused: 3, asked: 1, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			w := New(logr.Discard())
			w.interval = time.Millisecond
			transport := w.Wrap(roundTripper(func(*http.Request) (*http.Response, error) {
				asked++
				if asked <= c.refused {
					return nil, errRefused
				}
				return &http.Response{StatusCode: c.status, Body: http.NoBody}, nil
			}))
			r := httptest.NewRequest(c.method, c.url, http.NoBody)
			if c.deadline {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				r = r.WithContext(ctx)
			}
			answer, err := transport.RoundTrip(r)
			if err == nil {
				defer func() { _ = answer.Body.Close() }()
			}
			if c.fails != errors.Is(err, errRefused) || !c.fails && answer.StatusCode != c.status {
				t.Errorf("%v, %v", answer, err)
			}
			if asked != c.asked {
				t.Errorf("asked %d times, want %d", asked, c.asked)
			}
		})
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	transport := New(logr.Discard()).Wrap(roundTripper(func(*http.Request) (*http.Response, error) {
		cancel()
		return nil, errRefused
	}))
	answer, err := transport.RoundTrip(httptest.NewRequest(http.MethodGet, "/pods?watch=true", http.NoBody).WithContext(ctx))
	if !errors.Is(err, errRefused) {
		_ = answer.Body.Close()
		t.Errorf("%v, %v", answer, err)
	}
}
