// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// The time between two checks is at least pollInterval and at most longestPollInterval.
const (
	pollInterval        = 100 * time.Millisecond
	longestPollInterval = 2 * time.Second
)

// untilNext returns the pause after a check that took so long. Expensive checks, such as running a program, are
// repeated less often.
func untilNext(took time.Duration) time.Duration {
	return min(max(pollInterval, 3*took), longestPollInterval)
}

// Patience is the time that tests wait for a state of the cluster. It is long, because a machine can be ten times slower
// for minutes, and below the five minutes after which the operator looks for new APIs and for the TLS profile by itself,
// so that a missed event still fails a test.
const Patience = 4 * time.Minute

// Eventually polls until check returns nil, and fails the test with the last error at the deadline or if the error is
// Terminal.
func Eventually(t testing.TB, within time.Duration, what string, check func() error) {
	t.Helper()
	if err := Poll(t.Context(), within, check); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

type terminalError struct{ error }

func (h terminalError) Unwrap() error { return h.error }

// Terminal marks an error after which polling cannot succeed, for example because a process ended.
func Terminal(err error) error { return terminalError{err} }

// Poll polls until check returns nil or a Terminal error. At the deadline, it returns the last error.
func Poll(ctx context.Context, within time.Duration, check func() error) error {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for {
		began := time.Now()
		err := check()
		if err == nil || errors.As(err, &terminalError{}) {
			return err
		}
		select {
		case <-deadline.C:
			return fmt.Errorf("not within %s: %w", within, err)
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(untilNext(time.Since(began))):
		}
	}
}

// Consistently polls for the whole time and fails the test as soon as check returns an error.
func Consistently(t testing.TB, during time.Duration, what string, check func() error) {
	t.Helper()
	holds := errors.New("it holds")
	err := Poll(t.Context(), during, func() error {
		if err := check(); err != nil {
			return Terminal(err)
		}
		return holds
	})
	if !errors.Is(err, holds) {
		t.Fatalf("%s: %v", what, err)
	}
}
