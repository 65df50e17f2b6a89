// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// The times after which a reconcile that failed is repeated. Doubling alone would wait about as long again as the API server could not do what was
// asked: for the first half minute, the pause stays at steadyRetry. What fails for longer is repeated less and less often.
const (
	firstRetry  = 5 * time.Millisecond
	steadyRetry = time.Second
	lastRetry   = 5 * time.Minute
	// steadyRetries is how often the pause is steadyRetry.
	steadyRetries = 30
)

// retries says when the reconcile of a custom resource that failed is repeated. An event about the custom resource does not wait for it.
type retries struct {
	mu     sync.Mutex
	failed map[reconcile.Request]int
}

func newRetries() *retries { return &retries{failed: map[reconcile.Request]int{}} }

// When counts a failure, and returns the pause that follows it.
func (r *retries) When(request reconcile.Request) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed[request]++
	return pauseAfter(r.failed[request])
}

// Forget is called when a reconcile succeeds.
func (r *retries) Forget(request reconcile.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.failed, request)
}

// NumRequeues is how often a reconcile has failed since one succeeded.
func (r *retries) NumRequeues(request reconcile.Request) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed[request]
}

// pauseAfter is the pause after so many failures in a row.
func pauseAfter(failures int) time.Duration {
	pause, steady := firstRetry, steadyRetries
	for range failures - 1 {
		switch {
		case pause < steadyRetry:
			pause = min(2*pause, steadyRetry)
		case steady > 1:
			steady--
		case pause < lastRetry:
			pause = min(2*pause, lastRetry)
		default:
			return pause
		}
	}
	return pause
}
