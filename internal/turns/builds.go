// SPDX-License-Identifier: Apache-2.0

package turns

import (
	"context"
	"time"
)

// maxRest bounds a rest: who waits meanwhile has a minute for its whole pass.
const maxRest = 10 * time.Second

// Builds lets one build of a large resource run at a time, which is nothing but processor time. After each, nobody builds for as long as it
// took, at most ten seconds: however many large resources there are, the small ones have half of that processor's time for themselves.
type Builds struct{ free chan struct{} }

// NewBuilds returns builds of which none runs.
func NewBuilds() *Builds {
	b := &Builds{free: make(chan struct{}, 1)}
	b.free <- struct{}{}
	return b
}

// Begin waits for the turn of a build, and returns what ends it. A build whose context ends before begins at once, and reports that.
func (b *Builds) Begin(ctx context.Context) (end func()) {
	select {
	case <-b.free:
	case <-ctx.Done():
		return func() {}
	}
	began := time.Now()
	return func() { time.AfterFunc(min(time.Since(began), maxRest), func() { b.free <- struct{}{} }) }
}
