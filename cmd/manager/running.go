// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Managers restart with a back-off from firstRestart to lastRestart, which starts over after a run of steady.
const (
	firstRestart, lastRestart = time.Second, 30 * time.Second
	restartSteps              = 6
	resetAfter                = 5 * time.Minute
)

const (
	// readyPeriod is the polling interval while the API server is not ready, and readyTimeout bounds each request.
	readyPeriod  = 500 * time.Millisecond
	readyTimeout = 5 * time.Second
	// watchPeriod is the polling interval while a manager runs, and unreachableTimeout the tolerated outage.
	watchPeriod        = 5 * time.Second
	unreachableTimeout = 10 * time.Second
)

// keepRunning restarts the manager until the context ends, when the API server is ready; the webhooks continue.
func keepRunning(ctx context.Context, ready func(context.Context) bool, run func(context.Context) error) error {
	backoff := wait.Backoff{Duration: firstRestart, Factor: 2, Jitter: 0.1, Steps: restartSteps, Cap: lastRestart}
	pause := backoff.DelayWithReset(clock.RealClock{}, resetAfter)
	for ctx.Err() == nil {
		err := run(ctx)
		switch {
		case ctx.Err() != nil && errors.Is(err, context.Canceled):
			return nil
		case ctx.Err() != nil:
			return err
		case ready(ctx):
			delay := pause()
			ctrl.Log.Error(err, "manager stopped and restarts; the webhooks continue", "after", delay.String())
			select {
			case <-ctx.Done():
			case <-time.After(delay):
			}
		default:
			ctrl.Log.Error(err, "manager stopped and restarts when the API server is ready; the webhooks continue")
			waitForReady(ctx, ready)
		}
	}
	return nil
}

// waitForReady waits for the API server, at most lastRestart, because some of its checks may not matter.
func waitForReady(ctx context.Context, ready func(context.Context) bool) {
	_ = wait.PollUntilContextTimeout(ctx, readyPeriod, lastRestart, false, func(ctx context.Context) (bool, error) {
		return ready(ctx), nil
	})
}

// apiServerWatch ends the manager when the API server is unreachable, because a new manager's caches fill at once,
// while failed ones back off up to a minute.
type apiServerWatch struct{ ready func(context.Context) bool }

var errUnreachable = errors.New("the API server is not ready")

// NeedLeaderElection returns false, because a standby's caches must be current, too.
func (*apiServerWatch) NeedLeaderElection() bool { return false }

// Start polls until the context ends, or returns errUnreachable.
func (w *apiServerWatch) Start(ctx context.Context) error {
	last := time.Now()
	if err := wait.PollUntilContextCancel(ctx, watchPeriod, false, func(ctx context.Context) (bool, error) {
		if w.ready(ctx) {
			last = time.Now()
		} else if time.Since(last) > unreachableTimeout {
			return false, errUnreachable
		}
		return false, nil
	}); errors.Is(err, errUnreachable) {
		return err
	}
	return nil // the context ended
}

// apiServerReady returns a function that reports whether the API server is ready: any status below 500.
func apiServerReady(config *rest.Config) (func(context.Context) bool, error) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) bool {
		ctx, cancel := context.WithTimeout(ctx, readyTimeout)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, base.JoinPath("readyz").String(), http.NoBody)
		if err != nil {
			return false
		}
		response, err := httpClient.Do(request)
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode < http.StatusInternalServerError
	}, nil
}
