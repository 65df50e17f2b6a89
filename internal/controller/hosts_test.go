// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/hosts"
	"github.com/llamastack/llama-stack-k8s-operator/internal/panics"
	"github.com/llamastack/llama-stack-k8s-operator/internal/readable"
)

// Proves: R62 (the warning follows every change of who uses a host, and nothing else starts a reconcile).
func TestChangesOfHostsConcernTheYounger(t *testing.T) {
	tree := func(name, created string, generation int64, expose string) client.Object {
		u := readable.NewTree()
		if err := yaml.Unmarshal([]byte("{metadata: {namespace: ns, name: "+name+", uid: "+name+", creationTimestamp: '"+created+
			"'}, spec: {networking: {expose: "+expose+"}}}"), &u.Object); err != nil {
			t.Fatal(err)
		}
		u.SetGeneration(generation)
		return u
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	concerned := func() (names []string) {
		for queue.Len() > 0 {
			r, _ := queue.Get()
			queue.Done(r)
			names = append(names, r.Name)
		}
		slices.Sort(names)
		return names
	}
	table := hosts.New()
	h := recordHosts(table, func() string { return "" })
	const first, second = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
	elder := func(o client.Object) string {
		name, _ := table.Elder(hosts.Use{
			Name: types.NamespacedName{Namespace: "ns", Name: o.GetName()}, Created: o.GetCreationTimestamp().Time, Hostname: "h.example",
		}, "")
		return name.Name
	}
	younger := tree("younger", second, 1, "{hostname: h.example}")
	older, off, elsewhere := tree("older", first, 1, "{hostname: h.example}"), tree("older", first, 2, "{enabled: false}"), tree("older", first, 3, "{hostname: g.example}")
	for _, step := range []struct {
		name string
		do   func()
		want []string
		from string
	}{
		{"the initial list", func() { h.Create(t.Context(), event.CreateEvent{Object: younger, IsInInitialList: true}, queue) }, nil, ""},
		{"an older one", func() { h.Create(t.Context(), event.CreateEvent{Object: older}, queue) }, []string{"older", "younger"}, "older"},
		{"its status", func() { h.Update(t.Context(), event.UpdateEvent{ObjectOld: older, ObjectNew: older}, queue) }, nil, "older"},
		{"exposed no more", func() { h.Update(t.Context(), event.UpdateEvent{ObjectOld: older, ObjectNew: off}, queue) }, []string{"younger"}, ""},
		{"elsewhere", func() { h.Update(t.Context(), event.UpdateEvent{ObjectOld: off, ObjectNew: elsewhere}, queue) }, []string{"older"}, ""},
		{"back", func() { h.Update(t.Context(), event.UpdateEvent{ObjectOld: elsewhere, ObjectNew: older}, queue) }, []string{"older", "younger"}, "older"},
		{"deleted", func() { h.Delete(t.Context(), event.DeleteEvent{Object: older}, queue) }, []string{"younger"}, ""},
		{"not readable", func() { h.Create(t.Context(), event.CreateEvent{Object: tree("older", first, 1, "[1]")}, queue) }, nil, ""},
	} {
		step.do()
		if got := concerned(); !slices.Equal(got, step.want) || elder(younger) != step.from {
			t.Errorf("%s: %v, want %v; the elder is %q", step.name, got, step.want, elder(younger))
		}
	}
}

// panicking is a value whose encoding panics.
type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("sk-canary") }

// An informer has the hosts recorded, and a panic there would end the process: it is counted, and the resource counts as not exposed.
//
// Proves: R63.
func TestRecordingHostsSurvivesAPanic(t *testing.T) {
	before := panics.Count()
	tree := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"networking": map[string]any{"expose": panicking{}}}}}
	if got := exposeOf(tree); got.Enabled {
		t.Errorf("%+v", got)
	}
	if got := panics.Count() - before; got != 1 {
		t.Errorf("%v panics were counted", got)
	}
}
