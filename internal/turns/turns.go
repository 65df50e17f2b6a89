// SPDX-License-Identifier: Apache-2.0

package turns

import (
	"context"
	"encoding/json"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/desired"
)

// largeInputs is the size from which a custom resource is large, in bytes of its spec, of the ConfigMaps that it is built from, and of the values of
// Secrets. Those of most users are far below.
const largeInputs = 32 << 10

// Turns lets only some resources at a time hold a worker. The others wait in order, without a worker: each gets an event when it may go on.
type Turns struct {
	ctx  context.Context //nolint:containedctx // the manager's: nobody reads events after it
	next chan event.GenericEvent

	mu   sync.Mutex
	free int
	// taken are the resources that have a turn, also those whose event is on its way.
	taken map[types.NamespacedName]bool
	// queue are the resources that wait, in order, and waiting the same as a set.
	queue   []types.NamespacedName
	waiting map[types.NamespacedName]bool
}

// New returns turns for so many at once; nobody reads its events after the context ends.
func New(ctx context.Context, atOnce int) *Turns {
	return &Turns{
		ctx: ctx, next: make(chan event.GenericEvent, atOnce), free: atOnce,
		taken: map[types.NamespacedName]bool{}, waiting: map[types.NamespacedName]bool{},
	}
}

// Next is the channel of events: each names a resource whose turn it is.
func (t *Turns) Next() <-chan event.GenericEvent { return t.next }

// Waits reports whether the resource waits for its turn.
func (t *Turns) Waits(key types.NamespacedName) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting[key]
}

// Take reports whether it is the turn of the resource; it waits otherwise. Release must follow in either case.
func (t *Turns) Take(key types.NamespacedName) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.taken[key]:
	case t.free > 0:
		t.free--
		t.taken[key] = true
	default:
		if !t.waiting[key] {
			t.waiting[key] = true
			t.queue = append(t.queue, key)
		}
		return false
	}
	return true
}

// Release gives the turn of the resource, if it has one, to the resource that waits longest.
func (t *Turns) Release(key types.NamespacedName) {
	t.mu.Lock()
	if !t.taken[key] {
		t.mu.Unlock()
		return
	}
	delete(t.taken, key)
	if len(t.queue) == 0 {
		t.free++
		t.mu.Unlock()
		return
	}
	first := t.queue[0]
	t.queue = t.queue[1:]
	delete(t.waiting, first)
	t.taken[first] = true
	t.mu.Unlock()
	cr := &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: first.Namespace, Name: first.Name}}
	select {
	case t.next <- event.GenericEvent{Object: cr}:
	case <-t.ctx.Done():
	}
}

// IsLarge reports whether a build from these inputs is one of those that take turns.
func IsLarge(in *desired.Inputs) bool {
	size := 0
	if spec, err := json.Marshal(&in.CR.Spec); err == nil {
		size = len(spec)
	}
	if in.Override != nil {
		size += len(in.Override.Content)
	}
	if in.CABundle != nil {
		for _, text := range in.CABundle.Data {
			size += len(text)
		}
	}
	for i := range in.Secrets {
		size += in.Secrets[i].Value.Len()
	}
	for i := range in.PodReferences {
		for _, value := range in.PodReferences[i].Values {
			size += value.Len()
		}
	}
	return size > largeInputs
}
