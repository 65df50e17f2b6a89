// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
)

// exposedResource returns an exposed custom resource that is age seconds younger than the first.
func exposedResource(namespace, name string, age int, hostname string) *unstructured.Unstructured {
	u := gather.NewTree()
	u.SetNamespace(namespace)
	u.SetName(name)
	u.SetUID(types.UID(fmt.Sprint(namespace, "/", name)))
	u.SetCreationTimestamp(metav1.NewTime(time.Date(2026, 1, 1, 0, 0, age, 0, time.UTC)))
	u.Object["spec"] = map[string]any{"networking": map[string]any{"expose": map[string]any{"hostname": hostname}}}
	if hostname == "" {
		u.Object["spec"] = map[string]any{"networking": map[string]any{"expose": true}}
	}
	return u
}

func usesOf(uses ...*unstructured.Unstructured) client.Client {
	builder := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithIndex(gather.NewTree(), gather.HostIndex, gather.IndexHosts)
	for _, u := range uses {
		builder.WithObjects(u.DeepCopy())
	}
	return builder.Build()
}

// Proves: R62 (hosts come from the spec or the domain; without a domain, resources without a host name share one).
func TestNextOlderUserOfTheSameHost(t *testing.T) {
	for name, c := range map[string]struct {
		domain string
		uses   []*unstructured.Unstructured
		want   string // the next older one of the last use
	}{
		"same host":                      {"", []*unstructured.Unstructured{exposedResource("a", "x", 1, "h.example"), exposedResource("b", "y", 2, "h.example")}, "a/x"},
		"other host":                     {"", []*unstructured.Unstructured{exposedResource("a", "x", 1, "g.example"), exposedResource("b", "y", 2, "h.example")}, ""},
		"the older one itself":           {"", []*unstructured.Unstructured{exposedResource("b", "y", 2, "h.example"), exposedResource("a", "x", 1, "h.example")}, ""},
		"next older of two":              {"", []*unstructured.Unstructured{exposedResource("a", "x", 1, "h.example"), exposedResource("b", "y", 2, "h.example"), exposedResource("c", "z", 3, "h.example")}, "b/y"},
		"same second":                    {"", []*unstructured.Unstructured{exposedResource("a", "x", 1, "h.example"), exposedResource("b", "y", 1, "h.example")}, "a/x"},
		"host-less":                      {"", []*unstructured.Unstructured{exposedResource("a", "x", 1, ""), exposedResource("b", "y", 2, "")}, "a/x"},
		"host-less and not":              {"", []*unstructured.Unstructured{exposedResource("a", "x", 1, "h.example"), exposedResource("b", "y", 2, "")}, ""},
		"host-less, with a domain":       {"example", []*unstructured.Unstructured{exposedResource("a", "x", 1, ""), exposedResource("b", "y", 2, "")}, ""},
		"made alike":                     {"example", []*unstructured.Unstructured{exposedResource("b-c", "a", 1, ""), exposedResource("c", "a-b", 2, "")}, "b-c/a"},
		"made, and named so":             {"apps.example", []*unstructured.Unstructured{exposedResource("b", "a", 1, ""), exposedResource("c", "x", 2, "a-b.apps.example")}, "b/a"},
		"named so, and made":             {"apps.example", []*unstructured.Unstructured{exposedResource("c", "x", 1, "a-b.apps.example"), exposedResource("b", "a", 2, "")}, "c/x"},
		"named so in another domain":     {"apps.example", []*unstructured.Unstructured{exposedResource("b", "a", 1, ""), exposedResource("c", "x", 2, "a-b.other.example")}, ""},
		"named so where nothing is made": {"", []*unstructured.Unstructured{exposedResource("b", "a", 1, ""), exposedResource("c", "x", 2, "a-b.apps.example")}, ""},
		"the younger of made and named":  {"example", []*unstructured.Unstructured{exposedResource("b", "a", 1, ""), exposedResource("d", "x", 2, "a-b.example"), exposedResource("e", "y", 3, "a-b.example")}, "d/x"},
	} {
		all, last := usesOf(c.uses...), c.uses[len(c.uses)-1]
		hostname, _, _ := unstructured.NestedString(last.Object, "spec", "networking", "expose", "hostname")
		older, err := gather.NextOlder(t.Context(), all, last, hostname, c.domain)
		if err != nil || (older == nil) != (c.want == "") || older != nil && older.String() != c.want {
			t.Errorf("%s: %v %v, want %q", name, older, err, c.want)
		}
		if older == nil {
			continue
		}
		at := slices.IndexFunc(c.uses, func(u *unstructured.Unstructured) bool { return client.ObjectKeyFromObject(u) == *older })
		if younger, err := gather.NextYounger(t.Context(), all, c.uses[at], c.domain); err != nil || younger == nil || *younger != client.ObjectKeyFromObject(last) {
			t.Errorf("%s: the next younger one of %s is %v, %v", name, older, younger, err)
		}
	}
}

// panicking is a value whose encoding panics.
type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("sk-canary") }

// Proves: R63 (a panic in the index function would end the process; it is counted, and the resource counts as not
// exposed).
func TestIndexHostsSurvivesAPanic(t *testing.T) {
	before := problem.PanicCount()
	tree := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"networking": map[string]any{"expose": panicking{}}}}}
	if got := gather.IndexHosts(tree); len(got) > 0 {
		t.Errorf("%+v", got)
	}
	if got := problem.PanicCount() - before; got != 1 {
		t.Errorf("%v panics were counted", got)
	}
}

// Proves: R62 (a packed custom resource has the same hosts).
func TestIndexHostsOfPacked(t *testing.T) {
	for _, hostname := range []string{"h.example", ""} {
		u := exposedResource("a", "x", 1, hostname)
		want := gather.IndexHosts(u)
		if _, err := gather.Pack(u); err != nil {
			t.Fatal(err)
		}
		if got := gather.IndexHosts(u); len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("host %q: %q, want %q", hostname, got, want)
		}
	}
}
