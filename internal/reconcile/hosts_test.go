// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
)

// Proves: R62 (the warning follows each change of a host, and nothing else starts a reconcile).
func TestHostChangesReconcileYoungerResources(t *testing.T) {
	tree := func(name, created string, generation int64, expose string) client.Object {
		u := gather.NewTree()
		if err := yaml.Unmarshal([]byte("{apiVersion: llamastack.io/v1alpha2, kind: LlamaStackDistribution, metadata: {namespace: ns, name: "+name+
			", uid: "+name+", creationTimestamp: '"+created+"'}, spec: {networking: {expose: "+expose+"}}}"), &u.Object); err != nil {
			t.Fatal(err)
		}
		u.SetGeneration(generation)
		return u
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	const first, second = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
	younger := tree("younger", second, 1, "{hostname: h.example}")
	older, off, elsewhere := tree("older", first, 1, "{hostname: h.example}"), tree("older", first, 2, "{enabled: false}"), tree("older", first, 3, "{hostname: g.example}")
	uses := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithObjects(younger).
		WithIndex(gather.NewTree(), gather.HostIndex, gather.IndexHosts).Build()
	h, passes := enqueueNextHostUser(uses, func() string { return "" }), hostsChanged()
	create := func(e event.CreateEvent) {
		if passes.Create(e) {
			h.Create(t.Context(), e, queue)
		}
	}
	update := func(before, after client.Object) {
		if e := (event.UpdateEvent{ObjectOld: before, ObjectNew: after}); passes.Update(e) {
			h.Update(t.Context(), e, queue)
		}
	}
	for _, step := range []struct {
		name string
		do   func()
		want []string
	}{
		{"the initial list", func() { create(event.CreateEvent{Object: older, IsInInitialList: true}) }, nil},
		{"an older one", func() { create(event.CreateEvent{Object: older}) }, []string{"younger"}},
		{"its status", func() { update(older, older) }, nil},
		{"exposed no more", func() { update(older, off) }, []string{"younger"}},
		{"elsewhere", func() { update(off, elsewhere) }, nil},
		{"back", func() { update(elsewhere, older) }, []string{"younger"}},
		{"deleted", func() { h.Delete(t.Context(), event.DeleteEvent{Object: older}, queue) }, []string{"younger"}},
		{"not readable", func() { create(event.CreateEvent{Object: tree("older", first, 1, "[1]")}) }, nil},
	} {
		step.do()
		var woken []string
		for queue.Len() > 0 {
			r, _ := queue.Get()
			queue.Done(r)
			woken = append(woken, r.Name)
		}
		if !slices.Equal(woken, step.want) {
			t.Errorf("%s: %v, want %v", step.name, woken, step.want)
		}
	}
}

// Proves: WEIGHT (a change of a share reconciles the others of the namespace with the host name, also refused ones).
func TestSharersOfAHost(t *testing.T) {
	tree := func(namespace, name, expose string) client.Object {
		u := gather.NewTree()
		if err := yaml.Unmarshal([]byte("{apiVersion: llamastack.io/v1alpha2, kind: LlamaStackDistribution, metadata: {namespace: "+namespace+", name: "+name+
			"}, spec: {networking: {expose: "+expose+"}}}"), &u.Object); err != nil {
			t.Fatal(err)
		}
		return u
	}
	hosts := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithIndex(gather.NewTree(), gather.HostIndex, gather.IndexHosts).WithObjects(
		tree("ai", "own", "{hostname: h.example, weight: 1}"), tree("ai", "other", "{hostname: h.example, weight: 2}"),
		tree("ai", "elsewhere", "{hostname: g.example, weight: 2}"), tree("b", "foreign", "{hostname: h.example, weight: 2}"),
	).Build()
	d := withDatabases("ai", "own", "")
	if got := texts(sharersOf(hosts)(t.Context(), d)); len(got) != 0 {
		t.Errorf("without a share: %v", got)
	}
	d.Annotations[names.AnnotationShare] = "h.example 1 8321"
	if got := texts(sharersOf(hosts)(t.Context(), d)); !slices.Equal(got, []string{"ai/other"}) {
		t.Errorf("reconciles %v", got)
	}
}
