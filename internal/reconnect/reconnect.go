// SPDX-License-Identifier: Apache-2.0

package reconnect

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/internal/lanes"
)

const (
	// interval is how often a request is repeated. An operator has some fifteen of them, and a connection that is refused costs nearly nothing.
	interval = time.Second
	// jitter spreads the requests over a second interval.
	jitter = 1.0
	// patience is how long an API server that answers may say that it cannot serve now. After that, the cache gets the answer, logs it, and asks again.
	// A cache that did not fail for two minutes begins its back-off anew, so it never gets to the long pauses.
	// A controller that waits for its first list gives up before that, after two minutes, and then only the log of this package has the cause.
	patience = 150 * time.Second
	// causeBytes and causeTime are how much is read of an answer that says why the API server cannot serve, and for how long.
	causeBytes, causeTime = 64 << 10, 5 * time.Second
)

// Waiter makes the requests of caches wait while the API server cannot be reached, or cannot serve.
type Waiter struct {
	interval, patience time.Duration

	log logr.Logger

	mu sync.Mutex
	// away is since when the API server cannot be reached; zero while it can.
	away time.Time
}

// New returns a Waiter for all clients of one API server. It logs when the API server goes away, and when it is back.
func New(log logr.Logger) *Waiter { return &Waiter{interval: interval, patience: patience, log: log} }

// Wrap is for rest.Config.Wrap.
func (w *Waiter) Wrap(next http.RoundTripper) http.RoundTripper { return &transport{w, next} }

type transport struct {
	waiter *Waiter
	next   http.RoundTripper
}

// WrappedRoundTripper is what Kubernetes' clients look for.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip repeats a request of a cache until the API server serves it or its context ends.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !fillsCache(r) {
		return t.next.RoundTrip(r)
	}
	var refused time.Time // since when the API server answers, each time, that it cannot serve this now
	for {
		answer, err := t.next.RoundTrip(r)
		pause := wait.Jitter(t.waiter.interval, jitter)
		switch {
		case err == nil:
			t.waiter.answered()
			if !cannotServe(answer.StatusCode) {
				return answer, nil
			}
			if refused.IsZero() {
				refused = time.Now()
				t.waiter.log.Info("the API server cannot serve now; a cache waits for it",
					"path", r.URL.Path, "status", answer.Status, "cause", cause(answer))
			}
			pause = max(pause, retryAfter(answer))
			if time.Since(refused)+pause > t.waiter.patience {
				answer.Header.Del("Retry-After") // the client would repeat the request ten times itself, and each would wait anew
				return answer, nil
			}
		case r.Context().Err() == nil:
			refused = time.Time{}
			t.waiter.failed(err)
		}
		if !lanes.Wait(r.Context(), pause) {
			return answer, err
		}
		if answer != nil {
			_ = answer.Body.Close()
		}
	}
}

// cannotServe reports whether a status says that the API server, or what it needs, such as etcd or a webhook, cannot serve now. What it will not
// serve, such as for lack of a permission, is for the cache to handle, and so is 504: an API server whose etcd was restored to an older state says so
// by it, and then a cache has to begin anew.
func cannotServe(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable:
		return true
	}
	return false
}

// cause is what an answer says about why the API server cannot serve: the message of a Status, or a text, such as that of a proxy. Anything else is
// left out, because it may be an object, and a Secret at that. The answer can still be read from its beginning.
func cause(answer *http.Response) string {
	body := answer.Body
	defer time.AfterFunc(causeTime, func() { _ = body.Close() }).Stop() // an answer need not end
	begin, _ := io.ReadAll(io.LimitReader(body, causeBytes))            // an error comes again when one reads on
	answer.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(begin), body), body}
	text := ""
	switch object, _, err := scheme.Codecs.UniversalDeserializer().Decode(begin, nil, nil); {
	case err == nil:
		if status, is := object.(*metav1.Status); is {
			text = status.Message
		}
	case strings.HasPrefix(answer.Header.Get("Content-Type"), "text/"):
		text = strings.TrimSpace(string(begin))
	}
	return bounds.Message(strings.ToValidUTF8(text, "\uFFFD"))
}

// retryAfter is how long the API server asks its clients to wait; zero where it does not.
func retryAfter(answer *http.Response) time.Duration {
	seconds, err := strconv.ParseUint(answer.Header.Get("Retry-After"), 10, 16)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
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
