// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/panics"
	"github.com/llamastack/llama-stack-k8s-operator/internal/written"
)

// Proves: L-03, L-29 (a reconcile waits for the cache instead of sending what the API server would refuse as a conflict).
func TestReconcileWaitsUntilTheCacheHasTheStatusWrittenLast(t *testing.T) {
	r := newReporter(t)
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(stack("a"))}
	cached := &v1alpha2.LlamaStackDistribution{}
	if err := r.client.Get(t.Context(), request.NamespacedName, cached); err != nil {
		t.Fatal(err)
	}
	version := func(uid types.UID, resourceVersion string) *metav1.ObjectMeta {
		o := cached.DeepCopy()
		o.UID, o.ResourceVersion = uid, resourceVersion
		return &o.ObjectMeta
	}
	for name, c := range map[string]struct {
		last  *metav1.ObjectMeta
		waits bool
	}{
		"nothing was written":        {nil, false},
		"an older version":           {version(cached.UID, "1"), false},
		"the version of the cache":   {version(cached.UID, cached.ResourceVersion), false},
		"a newer version":            {version(cached.UID, "100000"), true},
		"of an earlier one, removed": {version("another", "100000"), false},
	} {
		t.Run(name, func(t *testing.T) {
			r.written.Forget(request.NamespacedName)
			if c.last != nil {
				r.written.Remember(c.last)
			}
			result, err := r.Reconcile(t.Context(), request)
			want := panics.Delay // a reconcile that goes on finds no gatherer
			if c.waits {
				want = written.CacheDelay
			}
			if err != nil || result.RequeueAfter != want {
				t.Errorf("%+v %v, want to come again after %v", result, err, want)
			}
		})
	}
}

// Proves: L-03, L-29 (what the API server answers to a write of the status is what the next reconcile waits for).
func TestStatusWriteIsRememberedUntilTheCacheHasIt(t *testing.T) {
	r := newReporter(t)
	before := &v1alpha2.LlamaStackDistribution{}
	if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(stack("a")), before); err != nil {
		t.Fatal(err)
	}
	if _, err := r.pass(t, wrong("X")); err != nil {
		t.Fatal(err)
	}
	after := &v1alpha2.LlamaStackDistribution{}
	if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(stack("a")), after); err != nil {
		t.Fatal(err)
	}
	last := r.written.Last(client.ObjectKeyFromObject(after))
	if now := time.Now(); !r.written.IsOlder(before, last, now) || r.written.IsOlder(after, last, now) {
		t.Errorf("before %s, after %s, remembered %v", before.ResourceVersion, after.ResourceVersion, &r.written)
	}
}
