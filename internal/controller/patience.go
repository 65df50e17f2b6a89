// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/status"
)

const (
	// answerPatience is how long the status waits for the first answer of a server whose pods have become ready. Most answer at once.
	answerPatience = time.Second
	// progressPatience is how long it waits while a rollout makes progress and nothing but its numbers and messages change.
	progressPatience = 2 * time.Second
)

// patience holds changes of statuses back, and remembers since when.
type patience struct {
	// own takes the place of answerPatience and progressPatience where it is not zero.
	own time.Duration

	mu    sync.Mutex
	since map[types.NamespacedName]time.Time
}

// hold returns how long the change of the status may wait for a next one, which is expected soon and would replace it; zero where it must not.
func (p *patience) hold(s *scope, before *v1alpha2.LlamaStackDistributionStatus) time.Duration {
	switch {
	case s.problems.HasErrors():
		return 0
	case s.serverPending:
		return cmp.Or(p.own, answerPatience)
	case status.DiffersInProgressOnly(before, &s.cr.Status):
		return cmp.Or(p.own, progressPatience)
	}
	return 0
}

// remaining returns how much longer a change is held back that may wait for so long; zero where it is to be written now.
func (p *patience) remaining(key types.NamespacedName, hold time.Duration, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if hold == 0 {
		delete(p.since, key)
		return 0
	}
	since, waits := p.since[key]
	if !waits {
		if p.since == nil {
			p.since = map[types.NamespacedName]time.Time{}
		}
		since = now
		p.since[key] = now
	}
	if left := hold - now.Sub(since); left > 0 {
		return left
	}
	delete(p.since, key)
	return 0
}

func (p *patience) forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.since, key)
}
