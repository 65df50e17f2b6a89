// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/llamastack/llama-stack-k8s-operator/internal/turns"
)

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "ns", Name: name}
}

// Proves: R63 (a resource that waits holds no worker, and nothing is read for it).
func TestReconcileOfWaitingResourceEndsAtOnce(t *testing.T) {
	r := &Reconciler{turns: turns.New(t.Context(), 0)} // it would panic if it read anything
	r.turns.Take(named("large"))
	result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: named("large")})
	if err != nil || result != (ctrl.Result{}) {
		t.Errorf("%+v, %v", result, err)
	}
}
