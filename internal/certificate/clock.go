// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"net/http"
	"sync/atomic"
	"time"
)

// Clock is the API server's clock, as its answers show it. The API server checks the webhooks' certificate, so what is due is due by its time: a
// replica whose own clock is wrong would make a certificate that nobody accepts. Where the API server has not answered yet, it is this
// machine's clock. It is safe for concurrent use.
type Clock struct {
	shown atomic.Pointer[shown]
}

// shown is the time that an answer had, and when it came, on the monotonic clock.
type shown struct{ there, here time.Time }

// Wrap is for rest.Config.Wrap: the clock reads the answers.
func (c *Clock) Wrap(next http.RoundTripper) http.RoundTripper { return &clockTransport{c, next} }

// Now is the time of the last answer, and what has passed since. Answers have whole seconds.
func (c *Clock) Now() time.Time {
	s := c.shown.Load()
	if s == nil {
		return time.Now()
	}
	return s.there.Add(time.Since(s.here))
}

// Since is the time that has passed.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

type clockTransport struct {
	clock *Clock
	next  http.RoundTripper
}

// WrappedRoundTripper is what Kubernetes' clients look for.
func (t *clockTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

func (t *clockTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(r)
	if err == nil {
		if there, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
			t.clock.shown.Store(&shown{there: there, here: time.Now()})
		}
	}
	return answer, err
}
