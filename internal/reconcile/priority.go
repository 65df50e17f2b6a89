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

// editPriority is the priority of edited custom resources; other events have 0, the initial list less.
const editPriority = 100

// prioritizeEdits enqueues an edited custom resource before all others that wait for a worker.
func prioritizeEdits() handler.EventHandler {
	return handler.Funcs{UpdateFunc: func(_ context.Context, e event.UpdateEvent,
		q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.ObjectNew)}
		if ordered, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
			ordered.AddWithOpts(priorityqueue.AddOpts{Priority: new(editPriority)}, request)
		}
	}}
}

// debounceDelay debounces events of owned objects, several of which change at once in a rollout.
const debounceDelay = 300 * time.Millisecond

// debounced delays a handler's requests by debounceDelay, so that one reconcile covers all changes.
func debounced(inner handler.EventHandler) handler.EventHandler {
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

type delayed struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// Add implements the queue.
func (q delayed) Add(request reconcile.Request) { q.AddAfter(request, debounceDelay) }
