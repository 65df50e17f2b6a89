// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: L-34 (an empty list means all namespaces).
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

func TestRunNeedsTheOperatorNamespace(t *testing.T) {
	err := run(t.Context(), &flags{})
	if err == nil || !strings.Contains(err.Error(), "--operator-namespace") || !strings.Contains(err.Error(), "POD_NAMESPACE") {
		t.Errorf("error %v, want it to name the flag and the variable", err)
	}
}

// Proves: R71 (a manager that ends is restarted with a growing delay, and stopping the process is not a failure).
func TestKeepRunningStartsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		var starts []time.Duration
		ready := func(context.Context) bool { return true }
		err := keepRunning(ctx, ready, func(ctx context.Context) error {
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

// Proves: L-30 (after an outage a manager starts once the API server is ready, or after lastRestart at the latest).
func TestKeepRunningWaitsForTheAPIServer(t *testing.T) {
	for name, c := range map[string]struct{ away, want time.Duration }{
		"two seconds": {2 * time.Second, 2 * time.Second},
		"20 seconds":  {20 * time.Second, 20 * time.Second},
		"always":      {time.Hour, lastRestart},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				began, starts := time.Now(), 0
				ready := func(context.Context) bool { return time.Since(began) >= c.away }
				err := keepRunning(ctx, ready, func(context.Context) error {
					starts++
					if starts == 2 {
						cancel()
					}
					return errors.New("leader election lost")
				})
				if took := time.Since(began); err == nil || took < c.want || took > c.want+readyPeriod {
					t.Errorf("started again after %s, %v", took, err)
				}
			})
		})
	}
}

// An API server that hangs is not ready; one that forbids the request is.
func TestAPIServerReady(t *testing.T) {
	for status, want := range map[int]bool{http.StatusOK: true, http.StatusForbidden: true, http.StatusInternalServerError: false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/readyz" {
				t.Errorf("asked for %s", r.URL.Path)
			}
			w.WriteHeader(status)
		}))
		ready, err := apiServerReady(&rest.Config{Host: server.URL})
		framework.NoError(t, err)
		if got := ready(t.Context()); got != want {
			t.Errorf("status %d: %v", status, got)
		}
		server.Close()
		if ready(t.Context()) {
			t.Error("an API server that is gone is ready")
		}
	}
}

// newLock must not change the timeout of the shared config.
func TestLockDoesNotChangeTheConfig(t *testing.T) {
	config := &rest.Config{Host: "https://localhost"}
	before := rest.CopyConfig(config)
	lock, err := newLock(config, "operator", "lease", "me", time.Second)
	if err != nil || lock.Identity() != "me" {
		t.Fatal(lock, err)
	}
	if !reflect.DeepEqual(before, config) {
		t.Errorf("the config became %v", config)
	}
}

// Proves: L-30 (a leader stops before another replica leads, and a dead leader is replaced within ten seconds).
func TestLeaseTimesLeaveAGap(t *testing.T) {
	var l leaseTimes
	l.bindFlags(flag.NewFlagSet("", flag.PanicOnError))
	if gap := l.duration - l.renewDeadline; gap < l.retryPeriod {
		t.Errorf("a leader that cannot renew gives up %s before another may lead", gap)
	}
	if worst := l.duration + 2*wait.Jitter(l.retryPeriod, leaderelection.JitterFactor); worst > 10500*time.Millisecond {
		t.Errorf("a dead leader is replaced after up to %s", worst)
	}
	if l.duration%time.Second != 0 {
		t.Errorf("the Lease says %s in whole seconds", l.duration)
	}
}

// Proves: L-30 (the next manager then starts with current caches).
func TestManagerEndsWithoutTheAPIServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		away := func(context.Context) bool {
			return time.Since(began) < time.Minute && time.Since(began) > unreachableTimeout/2 || time.Since(began) < time.Hour
		}
		ready := &apiServerWatch{func(ctx context.Context) bool { return !away(ctx) }}
		if err := ready.Start(t.Context()); !errors.Is(err, errUnreachable) || time.Since(began) > unreachableTimeout+2*watchPeriod {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		moments := &apiServerWatch{func(context.Context) bool { return time.Now().Unix()%2 == 0 }}
		if err := moments.Start(ctx); err != nil {
			t.Errorf("an API server that is away for moments: %v", err)
		}
	})
}

// Proves: R71 (the health server responds without a manager).
func TestHealthServer(t *testing.T) {
	address := framework.FreeAddress(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ready := map[string]healthz.Checker{"webhooks": func(*http.Request) error { return errors.New("no caBundle yet") }}
		ended <- healthServer(address, ready)(ctx)
	}()
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusInternalServerError, "/readyz/webhooks": http.StatusInternalServerError, "/x": http.StatusNotFound} {
		framework.Eventually(t, time.Minute, path, func() error {
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

// Proves: R71 (a part that does not stop blocks neither the process nor the other parts).
func TestTogetherHasStopTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		hang, stopped := make(chan struct{}), false
		time.AfterFunc(time.Minute, cancel)
		began := time.Now()
		err := runAll(ctx,
			func(context.Context) error { <-hang; return nil },
			func(ctx context.Context) error { <-ctx.Done(); stopped = true; return errors.New("the reason") })
		if err == nil || !strings.Contains(err.Error(), "the reason") || !strings.Contains(err.Error(), "1 of 2") || !stopped {
			t.Errorf("error %v, stopped %v", err, stopped)
		}
		if took := time.Since(began); took != time.Minute+shutdownTimeout {
			t.Errorf("it took %s", took)
		}
		close(hang)
	})
}
