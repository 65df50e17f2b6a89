// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// editPriority is that of custom resources that were edited. New ones, and what happens to objects of others, have 0,
// and those that an operator finds when it starts less.
const editPriority = 100

// editsFirst puts a custom resource that somebody edited, and waits for, before all others that wait for a worker.
func editsFirst() handler.EventHandler {
	return handler.Funcs{UpdateFunc: func(_ context.Context, e event.UpdateEvent,
		q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.ObjectNew)}
		if ordered, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
			ordered.AddWithOpts(priorityqueue.AddOpts{Priority: new(editPriority)}, request)
		}
	}}
}

// settleDelay is how long an event of an owned object waits for further ones. In a rollout, several objects change
// within a moment.
const settleDelay = 300 * time.Millisecond

// settled lets a handler enqueue after settleDelay, so that one reconcile reports all changes of that time, and finds
// its own writes in the cache.
func settled(inner handler.EventHandler) handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent,
			q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			inner.Create(ctx, e, delayed{q})
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent,
			q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			inner.Update(ctx, e, delayed{q})
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent,
			q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			inner.Delete(ctx, e, delayed{q})
		},
	}
}

// delayed is a queue whose requests wait for settleDelay.
type delayed struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// Add adds the request after settleDelay.
func (q delayed) Add(request reconcile.Request) { q.AddAfter(request, settleDelay) }
