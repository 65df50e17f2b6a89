// SPDX-License-Identifier: Apache-2.0

package turns

import (
	"context"
	"time"
)

// Builds lets one build of a large resource run at a time, which is nothing but processor time. After each, nobody builds for as long as it took:
// however many large resources there are, the small ones have half of that processor's time for themselves.
type Builds struct{ free chan struct{} }

// NewBuilds returns builds of which none runs.
func NewBuilds() *Builds {
	b := &Builds{free: make(chan struct{}, 1)}
	b.free <- struct{}{}
	return b
}

// Do calls build when it is its turn, or when the context has ended: build reports that.
func (b *Builds) Do(ctx context.Context, build func()) {
	select {
	case <-b.free:
		began := time.Now()
		defer func() { time.AfterFunc(time.Since(began), func() { b.free <- struct{}{} }) }()
	case <-ctx.Done():
	}
	build()
}
