// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/apply"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// killer kills the operator after a write, before the operator gets the response.
type killer struct {
	*proxy
	*world
	operator *operator
	replica  *replica
}

// after kills the replica after the n-th write in the world's namespace, and returns the counter of writes.
func (k *killer) after(n int64) (writes *atomic.Int64) {
	writes = &atomic.Int64{}
	dying := k.replica
	answered := func(r *http.Request, status int) bool {
		if !isWrite(r, k.Name) || status >= http.StatusBadRequest {
			return true
		}
		count := writes.Add(1)
		if count == n {
			dying.Kill()
		}
		return count < n
	}
	k.answered.Store(&answered)
	return writes
}

// survives repeats an action, each time killing the operator some writes later, until the action completes without a
// kill. It calls check when each has settled.
func (k *killer) survives(what string, do func(name string), settled func(name string) func() error, check func(name string)) {
	step := int64(1)
	if !full() {
		step = 5
	}
	tried := 0
	for n := int64(1); ; n += step {
		name := fmt.Sprintf("%s-%d", what, n)
		if what != "creation" {
			k.create(name)
			k.waitReady(name)
		}
		writes := k.after(n)
		do(name)
		framework.Eventually(k.t, patience, name+" settles, or the operator is killed", func() error {
			select {
			case <-k.replica.Ended:
				return nil
			default:
				return settled(name)()
			}
		})
		k.pass()
		killed := writes.Load() >= n // also if it has settled with this write
		if killed {
			<-k.replica.Ended
			k.replica = k.operator.start(k.t, "--leader-elect=false")
			tried++
		}
		framework.Eventually(k.t, patience, name+" settles after a kill at write "+fmt.Sprint(n), settled(name))
		check(name)
		if !killed {
			figures.add(k.t, fmt.Sprintf("killed (SIGKILL) after a write of %s, at %d places up to the last of %d writes", what, tried, writes.Load()),
				"converges, one rollout, no orphan", "so each time")
			return
		}
	}
}

// Proves: R48, R56, L-30 (if an operator is killed between two writes, the next one completes the work: one rollout for
// each edit, and no leftover objects).
func TestKilledAtEveryWrite(t *testing.T) {
	w := newWorld(t)
	p := newProxy(t)
	o := newOperator(t, p.kubeconfig)
	k := &killer{proxy: p, world: w, operator: o, replica: o.start(t, "--leader-elect=false")}
	w.create("reference")
	w.waitReady("reference")
	created := w.owned("reference")
	k.survives("creation", func(name string) { w.create(name) }, w.isReady, func(name string) { w.check(name, created, "1") })

	took := w.edit("reference")
	took()
	w.waitReady("reference")
	edited := w.owned("reference")
	applied := func(name string) func() error {
		return func() error {
			d, err := w.deployment(name)
			if err == nil && d.Annotations["deployment.kubernetes.io/revision"] != "2" {
				err = errors.New("it has not rolled")
			}
			return errors.Join(err, w.isReady(name)())
		}
	}
	k.survives("edit", func(name string) { _ = w.edit(name) }, applied, func(name string) { w.check(name, edited, "2") })

	remove := func(name string) {
		cr, err := w.get(name)
		if err == nil {
			err = admin.Delete(t.Context(), cr)
		}
		framework.NoError(t, err)
	}
	gone := func(name string) func() error {
		return func() error {
			if left := w.owned(name); len(left) > 0 {
				return fmt.Errorf("there are %v", left)
			}
			return nil
		}
	}
	k.survives("deletion", remove, gone, func(string) {})
}

// owned counts by kind the objects with the custom resource's labels.
func (w *world) owned(name string) map[string]int {
	w.t.Helper()
	counts := map[string]int{}
	for _, kind := range apply.OwnedKinds() {
		gvk, err := apiutil.GVKForObject(kind, admin.Scheme())
		framework.NoError(w.t, err)
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		framework.NoError(w.t, admin.List(w.t.Context(), list, client.InNamespace(w.Name), client.MatchingLabels(names.Selector(name))))
		if len(list.Items) > 0 {
			counts[gvk.Kind] = len(list.Items)
		}
	}
	return counts
}

// check compares the objects of a custom resource, and the number of its rollouts, with those of an undisturbed one.
func (w *world) check(name string, want map[string]int, revision string) {
	w.t.Helper()
	framework.Eventually(w.t, patience, name+" owns what it should", func() error {
		if got := w.owned(name); !maps.Equal(got, want) {
			return errors.New(cmp.Diff(want, got))
		}
		return nil
	})
	d, err := w.deployment(name)
	framework.NoError(w.t, err)
	if got := d.Annotations["deployment.kubernetes.io/revision"]; got != revision {
		w.t.Errorf("%s is at revision %s, want %s", name, got, revision)
	}
}
