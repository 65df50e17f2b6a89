// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// DefaultLoadInterval is 50 requests a second, enough to see failures that last for moments.
const DefaultLoadInterval = 20 * time.Millisecond

// maxPending bounds the unanswered requests of a Load.
const maxPending = 50

// Load sends a request at an interval, also while earlier ones are pending, and collects the failures.
type Load struct {
	requests atomic.Int64
	mu       sync.Mutex
	failures []string
	stop     func()
}

// StartLoad starts a Load, which ends with Check or with the test.
func StartLoad(t testing.TB, interval time.Duration, ask func(context.Context) error) *Load {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &Load{}
	waiting := make(chan struct{}, maxPending)
	var workers sync.WaitGroup
	workers.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				select {
				case waiting <- struct{}{}:
					workers.Go(func() { l.once(ask); <-waiting })
				default:
				}
			}
		}
	})
	l.stop = sync.OnceFunc(func() { cancel(); workers.Wait() })
	t.Cleanup(l.stop)
	return l
}

func (l *Load) once(ask func(context.Context) error) {
	l.requests.Add(1)
	began := time.Now()
	err := ask(context.Background()) // pending requests are finished
	if err == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = append(l.failures, fmt.Sprintf("%s after %s: %v", began.Format(time.TimeOnly), time.Since(began).Round(time.Millisecond), err))
}

// Check stops the Load, fails the test if a request failed, and returns the number of requests.
func (l *Load) Check(t testing.TB, what string) int64 {
	t.Helper()
	l.stop()
	if len(l.failures) > 0 {
		t.Errorf("%s: %d of %d requests failed: %q", what, len(l.failures), l.requests.Load(), l.failures[:min(3, len(l.failures))])
	}
	t.Logf("%s: %d requests", what, l.requests.Load())
	return l.requests.Load()
}
