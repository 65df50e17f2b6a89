// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Proves: L-30 (what the API server could not do for half a minute is tried again a second after it can; what fails forever is tried every five minutes).
func TestRetriesFollowTheAPIServerClosely(t *testing.T) {
	t.Parallel()
	r := newRetries()
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "a", Name: "b"}}
	var failing, last time.Duration
	for failing < time.Hour {
		pause := r.When(request)
		if pause < last || pause > lastRetry {
			t.Fatalf("pause %s after %s", pause, last)
		}
		if failing < 30*time.Second && pause > time.Second {
			t.Fatalf("after failing for %s, the pause is %s", failing, pause)
		}
		if pause > 2*failing+2*firstRetry {
			t.Fatalf("after failing for %s, the pause is %s: longer than twice that", failing, pause)
		}
		failing, last = failing+pause, pause
	}
	if last != lastRetry {
		t.Errorf("after an hour, the pause is %s", last)
	}
	if n := r.NumRequeues(request); n < 45 || n > 60 {
		t.Errorf("%d attempts in an hour", n)
	}
	r.Forget(request)
	if got := r.When(request); got != firstRetry || r.NumRequeues(request) != 1 {
		t.Errorf("after a success, the pause is %s", got)
	}
}
