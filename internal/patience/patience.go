// SPDX-License-Identifier: Apache-2.0

package patience

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

// Patience holds changes of statuses back, and remembers since when. Its zero value is ready.
type Patience struct {
	// Own takes the place of answerPatience and progressPatience where it is not zero.
	Own time.Duration

	mu    sync.Mutex
	since map[types.NamespacedName]time.Time
}

// Change is a change of a status.
type Change struct {
	// HasErrors reports that something is wrong, and AnswerPending that the server is being asked and has not answered yet.
	HasErrors, AnswerPending bool
	// Before is the status as it is stored, and After as it is now.
	Before, After *v1alpha2.LlamaStackDistributionStatus
}

// Hold returns how long the change may wait for a next one, which is expected soon and would replace it; zero where it must not.
func (p *Patience) Hold(c *Change) time.Duration {
	switch {
	case c.HasErrors:
		return 0
	case c.AnswerPending:
		return cmp.Or(p.Own, answerPatience)
	case status.DiffersInProgressOnly(c.Before, c.After):
		return cmp.Or(p.Own, progressPatience)
	}
	return 0
}

// Remaining returns how much longer a change is held back that may wait for so long; zero where it is to be written now.
func (p *Patience) Remaining(key types.NamespacedName, hold time.Duration, now time.Time) time.Duration {
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

// Forget drops what was remembered of a custom resource that is gone.
func (p *Patience) Forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.since, key)
}
