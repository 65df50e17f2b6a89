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
				defer builds.Begin(t.Context())()
				starts <- time.Since(began)
				<-time.After(3 * time.Second)
				panic("found something impossible")
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
		end := builds.Begin(t.Context())
		<-time.After(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		builds.Begin(ctx)()
		if took := time.Since(began); took != time.Second {
			t.Errorf("began after %s", took)
		}
		end()
		<-time.After(time.Hour) // the rest of the first one is over
		began = time.Now()
		builds.Begin(t.Context())
		if took := time.Since(began); took != 0 {
			t.Errorf("the builds are not free again: waited %s", took)
		}
	})
}
