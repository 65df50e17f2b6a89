// SPDX-License-Identifier: Apache-2.0

package reconnect

import (
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/llamastack/llama-stack-k8s-operator/internal/lanes"
)

const (
	// interval is how often a request is repeated. An operator has some fifteen of them, and a connection that is refused costs nearly nothing.
	interval = time.Second
	// jitter spreads the requests over a second interval.
	jitter = 1.0
)

// Waiter makes the requests of caches wait while the API server cannot be reached.
type Waiter struct {
	interval time.Duration
	log      logr.Logger

	mu sync.Mutex
	// away is since when the API server cannot be reached; zero while it can.
	away time.Time
}

// New returns a Waiter for all clients of one API server. It logs when the API server goes away, and when it is back.
func New(log logr.Logger) *Waiter { return &Waiter{interval: interval, log: log} }

// Wrap is for rest.Config.Wrap.
func (w *Waiter) Wrap(next http.RoundTripper) http.RoundTripper { return &transport{w, next} }

type transport struct {
	waiter *Waiter
	next   http.RoundTripper
}

// WrappedRoundTripper is what Kubernetes' clients look for.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip repeats a request of a cache until somebody answers or its context ends.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !fillsCache(r) {
		return t.next.RoundTrip(r)
	}
	for {
		answer, err := t.next.RoundTrip(r)
		if err == nil {
			t.waiter.answered()
			return answer, nil
		}
		if r.Context().Err() == nil {
			t.waiter.failed(err)
		}
		if !lanes.Wait(r.Context(), wait.Jitter(t.waiter.interval, jitter)) {
			return answer, err
		}
	}
}

// fillsCache reports whether a request is one of those that fill caches: a watch, or a list that names a resource version. Such a list
// without a deadline is nobody else's.
func fillsCache(r *http.Request) bool {
	_, hurries := r.Context().Deadline()
	query := r.URL.Query()
	return r.Method == http.MethodGet && !hurries && (query.Has("watch") || query.Has("resourceVersion"))
}

func (w *Waiter) failed(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away.IsZero() {
		w.away = time.Now()
		w.log.Info("the API server cannot be reached; caches wait for it", "error", err.Error())
	}
}

func (w *Waiter) answered() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.away.IsZero() {
		w.log.Info("the API server answers again", "after", time.Since(w.away).Round(time.Millisecond).String())
		w.away = time.Time{}
	}
}
