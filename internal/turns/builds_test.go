// SPDX-License-Identifier: Apache-2.0

package turns

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Proves: R63 (however many large resources there are, they are built for half of the time, also after one that panics).
func TestBuildsRestForAsLongAsTheyTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		builds, began := NewBuilds(), time.Now()
		starts := make(chan time.Duration, 3)
		var all sync.WaitGroup
		defer all.Wait()
		for range cap(starts) {
			all.Go(func() {
				defer func() { _ = recover() }()
				builds.Do(t.Context(), func() {
					starts <- time.Since(began)
					<-time.After(3 * time.Second)
					panic("found something impossible")
				})
			})
		}
		for want := time.Duration(0); want < 18*time.Second; want += 6 * time.Second {
			if got := <-starts; got != want {
				t.Errorf("a build began after %s, want %s: as long as the ones before it and their rests took", got, want)
			}
		}
	})
}

// Proves: R63 (who gives up waiting is called at once, so that it reports that).
func TestBuildWhoseTimeIsOverDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		builds := NewBuilds()
		go builds.Do(t.Context(), func() { <-time.After(time.Hour) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began, called := time.Now(), false
		builds.Do(ctx, func() { called = true })
		if took := time.Since(began); !called || took != time.Second {
			t.Errorf("called: %v, after %s", called, took)
		}
		<-time.After(2 * time.Hour) // the rest of the first one is over
		builds.Do(t.Context(), func() { began = time.Now() })
		if took := time.Since(began); took != 0 {
			t.Errorf("the builds are not free again: waited %s", took)
		}
	})
}
