// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// editPriority is that of custom resources that were edited. New ones, and what happens to objects of others, have 0, and those that an operator
// finds when it starts less.
const editPriority = 100

// editsFirst puts a custom resource that somebody edited, and waits for, before all others that wait for a worker.
func editsFirst() handler.EventHandler {
	return handler.Funcs{UpdateFunc: func(_ context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.ObjectNew)}
		if ordered, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
			ordered.AddWithOpts(priorityqueue.AddOpts{Priority: new(editPriority)}, request)
		}
	}}
}
