// SPDX-License-Identifier: Apache-2.0

package prober

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe"
)

// setStores sets the results of later reads of stores.
func (f *fakeServers) setStores(result serverprobe.StoreResult, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stores, f.storesFailure = result, err
}

func (f *fakeServers) reads() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.storeReads
}

// withStores returns a response to a probe with the current result of the stores.
func withStores(servers **fakeServers) func(context.Context, string) (*serverprobe.Observation, error) {
	return func(ctx context.Context, _ string) (*serverprobe.Observation, error) {
		stores, _ := (*servers).Stores(ctx, serverprobe.Server{})
		return &serverprobe.Observation{Version: "0.7.1", Stores: stores}, nil
	}
}

// Proves: R95 (stores are read every few minutes; a failure counts when it is found several times in a row, and recovery shows).
func TestProberReadsStoresAgain(t *testing.T) {
	var current *fakeServers
	inBubble(t, withStores(&current), func(t *testing.T, p *Prober, servers *fakeServers, cancel context.CancelFunc) {
		current = servers
		servers.setStores(serverprobe.StoreRead, nil)
		at := serverprobe.Server{URL: serverURL, Stores: map[string]string{"inference": "/v1/x"}}
		observed := func() serverprobe.StoreResult {
			o, _ := p.Observe(stack("a"), rollout(1), "pod", at)
			if o == nil {
				return ""
			}
			return o.Stores["inference"]
		}
		observed()
		<-time.After(time.Minute)
		if got := observed(); got != serverprobe.StoreRead {
			t.Errorf("observed %q at first", got)
		}
		notified(p)
		before := servers.reads()
		<-time.After(time.Hour)
		if read := servers.reads() - before; read < 15 || read > 25 {
			t.Errorf("read %d times in an hour", read)
		}
		if got := notified(p); len(got) != 0 {
			t.Errorf("announced %v though nothing is new", got)
		}
		servers.setStores(serverprobe.StoreFailed, nil)
		<-time.After(storesInterval + minFailedReads*confirmInterval)
		if got := observed(); got != serverprobe.StoreFailed {
			t.Errorf("observed %q after a failure", got)
		}
		servers.setStores(serverprobe.StoreRead, nil)
		<-time.After(failedStoresInterval + firstProbeDelay)
		if got := observed(); got != serverprobe.StoreRead {
			t.Errorf("observed %q after the recovery", got)
		}
		servers.setStores("", errors.New("no response"))
		<-time.After(time.Hour)
		if got := observed(); got != serverprobe.StoreRead {
			t.Errorf("observed %q of a silent server, want the last result", got)
		}
		p.Forget(types.NamespacedName{Namespace: "ai", Name: "a"})
		synctest.Wait()
		before = servers.reads()
		<-time.After(time.Hour)
		if servers.reads() != before {
			t.Error("the stores of a deleted custom resource are read")
		}
		cancel()
		synctest.Wait()
		checkStopped(t, p)
	})
}

// Proves: R95 (one failed read, such as with a connection that the database closed, is not reported).
func TestProberConfirmsFailedReads(t *testing.T) {
	var current *fakeServers
	inBubble(t, withStores(&current), func(t *testing.T, p *Prober, servers *fakeServers, _ context.CancelFunc) {
		current = servers
		servers.setStores(serverprobe.StoreRead, nil)
		at := serverprobe.Server{URL: serverURL, Stores: map[string]string{"inference": "/v1/x"}}
		p.Observe(stack("a"), rollout(1), "pod", at)
		<-time.After(time.Hour)
		notified(p)
		for before := servers.reads(); servers.reads() == before; <-time.After(100 * time.Millisecond) {
			servers.setStores(serverprobe.StoreFailed, nil)
		}
		servers.setStores(serverprobe.StoreRead, nil)
		<-time.After(time.Minute)
		if o, _ := p.Observe(stack("a"), rollout(1), "pod", at); o.Stores["inference"] != serverprobe.StoreRead {
			t.Errorf("observed %v", o.Stores)
		}
		if got := notified(p); len(got) != 0 {
			t.Errorf("announced %v", got)
		}
	})
}

// Proves: R95 (a failure from the start is reported within seconds).
func TestProberReportsStoresThatFailFromTheStart(t *testing.T) {
	var current *fakeServers
	inBubble(t, withStores(&current), func(t *testing.T, p *Prober, servers *fakeServers, _ context.CancelFunc) {
		current = servers
		servers.setStores(serverprobe.StoreFailed, nil)
		at := serverprobe.Server{URL: serverURL, Stores: map[string]string{"inference": "/v1/x"}}
		p.Observe(stack("a"), rollout(1), "pod", at)
		synctest.Wait()
		if got := notified(p); len(got) != 0 {
			t.Errorf("announced %v at once", got)
		}
		<-time.After(10 * firstProbeDelay)
		if o, _ := p.Observe(stack("a"), rollout(1), "pod", at); o == nil || o.Stores["inference"] != serverprobe.StoreFailed {
			t.Errorf("observed %+v", o)
		}
	})
}
