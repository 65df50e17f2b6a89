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

// A manager that ended is replaced after firstRestart, then less and less often, down to every lastRestart; one that
// ran for longer than steady begins anew.
const (
	firstRestart, lastRestart = time.Second, 30 * time.Second
	restartSteps              = 6
	steady                    = 5 * time.Minute
)

const (
	// readyPeriod is how often the API server is asked whether it is ready, while it is not, and readyTimeout how long it
	// may take to answer.
	readyPeriod  = 500 * time.Millisecond
	readyTimeout = 5 * time.Second
	// watchPeriod is how often the API server is asked while a manager runs, and unreachableTimeout how long it may be
	// away.
	watchPeriod        = 5 * time.Second
	unreachableTimeout = 10 * time.Second
)

// keepRunning runs the manager until the context ends. A manager ends when the API server cannot be reached at its
// start, and when it loses its lease; the process and its webhooks go on meanwhile. Where the API server is not ready,
// the next manager starts as soon as it is.
func keepRunning(ctx context.Context, ready func(context.Context) bool, run func(context.Context) error) error {
	backoff := wait.Backoff{Duration: firstRestart, Factor: 2, Jitter: 0.1, Steps: restartSteps, Cap: lastRestart}
	pause := backoff.DelayWithReset(clock.RealClock{}, steady)
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
			untilReady(ctx, ready)
		}
	}
	return nil
}

// untilReady waits until the API server is ready, for lastRestart at most: the operator may not need the part that is
// not ready.
func untilReady(ctx context.Context, ready func(context.Context) bool) {
	_ = wait.PollUntilContextTimeout(ctx, readyPeriod, lastRestart, false, func(ctx context.Context) (bool, error) {
		return ready(ctx), nil
	})
}

// apiServerWatch ends the manager when the API server could not be reached for unreachableTimeout. Caches whose
// requests fail back off up to a minute; those of the next manager are filled as soon as the API server is ready. A
// leader loses its lease before.
type apiServerWatch struct{ ready func(context.Context) bool }

var errUnreachable = errors.New("the API server is not ready")

// NeedLeaderElection is part of manager.LeaderElectionRunnable: the caches of a standby must be current when it begins
// to lead.
func (*apiServerWatch) NeedLeaderElection() bool { return false }

// Start asks until the context ends.
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

// apiServerReady returns a function that reports whether the API server is ready. An API server that forbids the
// question counts as ready.
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
		answer, err := httpClient.Do(request)
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode < http.StatusInternalServerError
	}, nil
}
