// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

// Proves: L-34 (the namespaces of the flag; no name means all).
func TestNamespaces(t *testing.T) {
	for list, want := range map[string][]string{
		"":             nil,
		" , ,":         nil,
		"a":            {"a"},
		"b,a":          {"a", "b"},
		" b , a ,, b ": {"a", "b"},
	} {
		if got := namespaces(list); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", list, got, want)
		}
	}
}

// The lease and the settings would be looked for nowhere.
func TestRunNeedsTheOperatorNamespace(t *testing.T) {
	err := run(t.Context(), &flags{})
	if err == nil || !strings.Contains(err.Error(), "--operator-namespace") || !strings.Contains(err.Error(), "POD_NAMESPACE") {
		t.Errorf("error %v, want it to name the flag and the variable", err)
	}
}

// Proves: R71 (a manager that ends is started again, ever more slowly, and the end of the process is not a failure).
func TestKeepRunningStartsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		var starts []time.Duration
		err := keepRunning(ctx, func(ctx context.Context) error {
			starts = append(starts, time.Since(began).Round(time.Second))
			if len(starts) < 10 {
				return errors.New("leader election lost")
			}
			time.AfterFunc(time.Minute, cancel)
			<-ctx.Done()
			return ctx.Err()
		})
		if err != nil {
			t.Error(err)
		}
		if len(starts) != 10 || starts[1] > 2*time.Second || starts[9]-starts[8] < lastRestart*8/10 || starts[9]-starts[8] > lastRestart*12/10 {
			t.Errorf("started after %s", starts)
		}
	})
}

// Proves: R71 (probes are answered without a manager).
func TestHealthServer(t *testing.T) {
	address := freeAddress(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ready := map[string]healthz.Checker{"webhooks": func(*http.Request) error { return errors.New("no caBundle yet") }}
		ended <- healthServer(address, ready)(ctx)
	}()
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusInternalServerError, "/readyz/webhooks": http.StatusInternalServerError, "/x": http.StatusNotFound} {
		fixture.Eventually(t, time.Minute, path, func() error {
			answer, err := http.Get("http://" + address + path)
			if err != nil {
				return err
			}
			defer answer.Body.Close() //nolint:errcheck // nothing was written
			if answer.StatusCode != want {
				return errors.New(answer.Status)
			}
			return nil
		})
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Proves: R71 (what does not stop keeps neither the process nor the others).
func TestTogetherDoesNotWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		hang, stopped := make(chan struct{}), false
		time.AfterFunc(time.Minute, cancel)
		began := time.Now()
		err := together(ctx,
			func(context.Context) error { <-hang; return nil },
			func(ctx context.Context) error { <-ctx.Done(); stopped = true; return errors.New("the reason") })
		if err == nil || !strings.Contains(err.Error(), "the reason") || !strings.Contains(err.Error(), "1 of 2") || !stopped {
			t.Errorf("error %v, stopped %v", err, stopped)
		}
		if took := time.Since(began); took != time.Minute+endTimeout {
			t.Errorf("it took %s", took)
		}
		close(hang)
	})
}
