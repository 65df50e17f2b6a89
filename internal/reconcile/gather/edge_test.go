// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// mapper is a RESTMapper with some kinds, or fails.
type mapper struct {
	meta.RESTMapper

	mu    sync.Mutex
	kinds []string
	err   error
	asked int
}

// set sets the kinds or the error, and returns the number of previous calls.
func (m *mapper) set(err error, kinds ...string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err, m.kinds = err, kinds
	return m.asked
}

func (m *mapper) RESTMapping(kind schema.GroupKind, _ ...string) (*meta.RESTMapping, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	if m.err != nil {
		return nil, m.err
	}
	for _, k := range m.kinds {
		if k == kind.String() {
			return &meta.RESTMapping{}, nil
		}
	}
	return nil, &meta.NoKindMatchError{GroupKind: kind}
}

// Proves: FR-064 (a failed lookup is an error).
func TestEdgeAPIs(t *testing.T) {
	m := &mapper{}
	if got, err := gather.EdgeAPIs(m); err != nil || got != (objects.EdgeAPIs{}) {
		t.Errorf("%+v %v", got, err)
	}
	m.kinds = []string{"Route.route.openshift.io", "HTTPRoute.gateway.networking.k8s.io"}
	if got, err := gather.EdgeAPIs(m); err != nil || got != (objects.EdgeAPIs{Route: true, HTTPRoute: true}) {
		t.Errorf("%+v %v", got, err)
	}
	m.err = errors.New("no response in time")
	if _, err := gather.EdgeAPIs(m); !errors.Is(err, m.err) {
		t.Errorf("error %v", err)
	}
}

// Proves: R64, FR-064 (webhook requests cause no lookups, and a later installed API is noticed without a restart).
func TestKnownEdgeAPIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mapper{err: errors.New("no response in time")}
		known := gather.NewKnownEdgeAPIs(m)
		if got := known.Get(); m.asked != 0 || got != (objects.EdgeAPIs{Route: true, HTTPRoute: true}) {
			t.Errorf("before anything is known: %+v, asked %d times", got, m.asked)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = known.Start(ctx) }()
		synctest.Wait()
		m.set(nil)
		<-time.After(time.Minute) // fake time
		synctest.Wait()
		before := m.set(nil)
		for range 100 {
			known.Get()
		}
		got, after := known.Get(), m.set(nil, "Route.route.openshift.io")
		if got != (objects.EdgeAPIs{}) || after != before {
			t.Errorf("%+v, asked %d times more", got, after-before)
		}
		changed := make(chan error, 1)
		go func() { changed <- known.AwaitChange(ctx, objects.EdgeAPIs{}) }()
		<-time.After(10 * time.Minute)
		synctest.Wait()
		if got := known.Get(); !got.Route {
			t.Errorf("an API that appeared is not known: %+v", got)
		}
		if err := <-changed; !errors.Is(err, gather.ErrAPIsChanged) {
			t.Errorf("what waits for another API: %v", err)
		}
		go func() { changed <- known.AwaitChange(ctx, objects.EdgeAPIs{Route: true}) }()
		<-time.After(time.Hour)
		cancel()
		if err := <-changed; err != nil {
			t.Errorf("without a change: %v", err)
		}
	})
}
