// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const trafficEvery = 100 * time.Millisecond

// traffic continuously requests a Service's health endpoint, with a new connection for each request, as many clients
// would.
type traffic struct {
	stop context.CancelFunc
	done sync.WaitGroup
	mu   sync.Mutex
	asks []ask
}

type ask struct {
	at   time.Time
	took time.Duration
	err  error
}

// startTraffic starts sending requests, until the test ends or end is called.
func startTraffic(t *testing.T, service string) *traffic {
	t.Helper()
	return startTrafficBy(t, web, service)
}

// startTrafficBy is startTraffic with a client.
func startTrafficBy(t *testing.T, by *http.Client, service string) *traffic {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	f := &traffic{stop: stop}
	t.Cleanup(stop)
	f.done.Go(func() {
		ticker := time.NewTicker(trafficEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case at := <-ticker.C:
				f.done.Go(func() {
					err := health(t.Context(), by, service)
					f.mu.Lock()
					defer f.mu.Unlock()
					f.asks = append(f.asks, ask{at, time.Since(at), err})
				})
			}
		}
	})
	return f
}

func health(ctx context.Context, by *http.Client, service string) error {
	status, _, err := framework.Send(ctx, by, http.MethodGet, service+"/v1/health", "")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d", status)
	}
	return err
}

// cutOff reports whether a pod closed the connection without a response after more than its grace period. A server on a
// busy machine may leave a connection in its queue that long, and a rollout cannot prevent that.
func (a ask) cutOff() bool {
	closed := errors.Is(a.err, syscall.ECONNRESET) || errors.Is(a.err, io.EOF)
	return closed && a.took > 5*time.Second
}

// maxCut is how many requests may be cut off during rollouts on a busy machine.
const maxCut = 3

// outcome has the results of the requests.
type outcome struct {
	// sent counts all requests, lost those that failed, and cut those that cutOff reports; more than maxCut of these count
	// as lost.
	sent, lost, cut int
	// gap is the longest time from the first lost request to the next response.
	gap time.Duration
	// slowest is the time of the slowest response; a slow response is not lost.
	slowest time.Duration
	first   error
}

func (o outcome) String() string {
	text := fmt.Sprintf("of %d requests %d were lost, without an answer for %.1f s; the slowest answer took %.1f s", o.sent, o.lost, o.gap.Seconds(), o.slowest.Seconds())
	if o.cut > 0 {
		text += fmt.Sprintf("; %d were cut off after a server had no CPU for them for 5 s", o.cut)
	}
	return text
}

func (f *traffic) end() outcome {
	f.stop()
	f.done.Wait()
	slices.SortFunc(f.asks, func(a, b ask) int { return a.at.Compare(b.at) })
	o := outcome{sent: len(f.asks)}
	var since time.Time
	for _, a := range f.asks {
		if a.err == nil {
			o.slowest = max(o.slowest, a.took)
		}
		switch {
		case a.err == nil && !since.IsZero():
			o.gap, since = max(o.gap, a.at.Sub(since)), time.Time{}
		case a.cutOff():
			o.cut++
		case a.err != nil:
			o.lost++
			if o.first == nil {
				o.first = fmt.Errorf("sent at %s, given up after %.1f s: %w", a.at.Format(time.TimeOnly), a.took.Seconds(), a.err)
			}
			if since.IsZero() {
				since = a.at
			}
		}
	}
	if o.cut > maxCut {
		o.lost += o.cut
	}
	if !since.IsZero() {
		o.gap = max(o.gap, f.asks[len(f.asks)-1].at.Sub(since))
	}
	return o
}
