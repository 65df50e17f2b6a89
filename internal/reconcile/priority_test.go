// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "ns", Name: name}
}

// Proves: R63 (an edit goes before hundreds of new custom resources and those found at the operator's start).
func TestEditsPrecedeWaitingReconciles(t *testing.T) {
	q := priorityqueue.New[reconcile.Request]("test")
	defer q.ShutDown()
	for i := range 500 {
		q.Add(reconcile.Request{NamespacedName: named(fmt.Sprint("new-", i))})
	}
	q.Add(reconcile.Request{NamespacedName: named("a")}) // already queued for another reason
	old, edited := stack("a"), stack("a")
	old.Namespace, edited.Namespace, edited.Generation = "ns", "ns", 2
	prioritizeEdits().Update(t.Context(), event.UpdateEvent{ObjectOld: old, ObjectNew: edited}, q)
	if first, _ := q.Get(); first.NamespacedName != named("a") {
		t.Errorf("the first is %s", first)
	}
}
