// SPDX-License-Identifier: Apache-2.0

package readable

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/packed"
)

// Proves: L-26 (of a resource that cannot be read as a whole, as much is read as can be, from a tree and from what the cache makes of it).
func TestDecode(t *testing.T) {
	const head = "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: a, namespace: ns, uid: u, generation: 3}\n"
	for name, c := range map[string]struct {
		manifest string
		err      string
		name     string
		phase    v1alpha2.DistributionPhase
	}{
		"good":                         {"spec: {distribution: {name: starter}}\nstatus: {phase: Ready}", "", "starter", "Ready"},
		"without status":               {"spec: {distribution: {name: starter}}", "", "starter", ""},
		"a quantity that is none":      {"spec: {distribution: {name: starter}, workload: {resources: {limits: {memory: 1e1.5}}}}\nstatus: {phase: Ready}", "quantities", "", "Ready"},
		"a number beyond 32 bits":      {"spec: {workload: {podDisruptionBudget: {maxUnavailable: 3000000000}}}\nstatus: {phase: Ready}", "3000000000", "", "Ready"},
		"a status that cannot be read": {"spec: {distribution: {name: starter}}\nstatus: {availableReplicas: x}", "availableReplicas", "", ""},
	} {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(head+c.manifest), &u.Object); err != nil {
			t.Fatal(err)
		}
		cr, fromTree := &v1alpha2.LlamaStackDistribution{}, &v1alpha2.LlamaStackDistribution{}
		treeErr := decode(u, fromTree)
		if made, err := compact(nil)(u); err != nil || made != u {
			t.Fatal(made, err)
		}
		err := decode(u, cr)
		if !reflect.DeepEqual(cr, fromTree) || (treeErr == nil) != (err == nil) {
			t.Errorf("%s: %+v, %v; from the tree %+v, %v", name, cr, err, fromTree, treeErr)
		}
		var unreadable *UnreadableError
		if c.err == "" && err != nil || c.err != "" && (!errors.As(err, &unreadable) || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: error %v, want one about %q", name, err, c.err)
		}
		got := ""
		if cr.Spec.Distribution.Name != nil {
			got = *cr.Spec.Distribution.Name
		}
		if cr.Name != "a" || cr.Generation != 3 || cr.UID != "u" || got != c.name || cr.Status.Phase != c.phase {
			t.Errorf("%s: %+v", name, cr)
		}
	}
}

// Proves: R63, L-01 (a cache has the texts of a resource, once, and of the tree only how it is exposed; what cannot be encoded stays as it is).
func TestCompact(t *testing.T) {
	first := func(in any) (any, error) {
		in.(client.Object).SetManagedFields(nil)
		return in, nil
	}
	u := NewTree()
	u.SetName("a")
	u.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "m"}})
	expose := map[string]any{"enabled": true}
	u.Object["spec"] = map[string]any{"networking": map[string]any{"expose": expose, "port": int64(1)}, "n": int64(1) << 60}
	for range 2 {
		if _, err := compact(first)(u); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]any{
		"apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution", "metadata": map[string]any{"name": "a"},
		"spec":  map[string]any{"networking": map[string]any{"expose": expose}},
		"texts": map[string]any{"spec": packed.Pack([]byte(`{"n":1152921504606846976,"networking":{"expose":{"enabled":true},"port":1}}`))},
	}
	if !reflect.DeepEqual(u.Object, want) {
		t.Errorf("%v, want %v", u.Object, want)
	}
	broken := NewTree()
	broken.Object["spec"] = func() {}
	if _, err := compact(nil)(broken); err != nil || broken.Object["spec"] == nil || broken.Object[texts] != nil {
		t.Errorf("%v, %v", broken.Object, err)
	}
	if other, err := compact(nil)("other"); other != "other" || err != nil {
		t.Error(other, err)
	}
}

// Proves: R63 (an event of a large resource that changes only its status costs the index nothing).
func TestIndexReadsEachSpecOnce(t *testing.T) {
	calls := 0
	index := remembered(func(o client.Object) []string {
		calls++
		return []string{fmt.Sprint(o.GetGeneration(), o.GetAnnotations()[v1alpha2.ConversionAnnotation])}
	})
	object := func(uid string, generation int64, annotation string) *unstructured.Unstructured {
		u := NewTree()
		u.SetUID(types.UID(uid))
		u.SetGeneration(generation)
		u.SetAnnotations(map[string]string{v1alpha2.ConversionAnnotation: annotation, "other": fmt.Sprint(calls)})
		return u
	}
	for _, c := range []struct {
		o     client.Object
		calls int
	}{
		{object("a", 1, ""), 1},
		{object("a", 1, ""), 1},
		{object("b", 1, ""), 2},
		{object("a", 2, ""), 3},
		{object("a", 2, "x"), 4},
		{object("b", 1, ""), 4},
		{object("a", 2, "x"), 4},
	} {
		want := []string{fmt.Sprint(c.o.GetGeneration(), c.o.GetAnnotations()[v1alpha2.ConversionAnnotation])}
		if got := index(c.o); !slices.Equal(got, want) || calls != c.calls {
			t.Errorf("%s: %v after %d calls, want %v after %d", c.o.GetUID(), got, calls, want, c.calls)
		}
	}
}

// trees is a cache that holds trees.
type trees struct {
	cache.Cache
	held []unstructured.Unstructured
}

func (c trees) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	list, ok := into.(*unstructured.UnstructuredList)
	if !ok {
		return errors.New("not asked for trees")
	}
	list.Items = c.held
	return nil
}

// Proves: R63 (who only wants to know which resources there are decodes none of them), L-26.
func TestListOfNamesDecodesNothing(t *testing.T) {
	large := NewTree()
	large.SetNamespace("ns")
	large.SetName("a")
	large.Object["spec"] = map[string]any{"distribution": map[string]any{"name": func() {}}} // nothing can encode or decode it
	c := &wrapper{Cache: trees{held: []unstructured.Unstructured{*large}}}
	names := NewNames()
	if err := c.List(t.Context(), names); err != nil || len(names.Items) != 1 || names.Items[0].Namespace != "ns" || names.Items[0].Name != "a" {
		t.Errorf("%+v, %v", names.Items, err)
	}
	list := &v1alpha2.LlamaStackDistributionList{}
	if err := c.List(t.Context(), list); err != nil || len(list.Items) != 1 || list.Items[0].Name != "a" {
		t.Errorf("%+v, %v", list.Items, err)
	}
	others := &metav1.PartialObjectMetadataList{}
	others.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := c.List(t.Context(), others); err == nil {
		t.Error("a list of others' metadata is asked as a list of trees")
	}
}

// An informer calls the functions of indexes, and a panic there would end the process, at each start again.
//
// Proves: R63.
func TestIndexSurvivesAPanic(t *testing.T) {
	tree := NewTree()
	tree.SetName("a")
	for name, extract := range map[string]client.IndexerFunc{
		"of a parser": func(client.Object) []string { panic("sk-canary") },
		"of Go":       func(o client.Object) []string { return []string{o.GetFinalizers()[0]} },
	} {
		if got := values(tree, extract); len(got) > 0 {
			t.Errorf("%s: indexed by %q", name, got)
		}
	}
	if got := values(tree, func(o client.Object) []string { return []string{o.GetName()} }); len(got) != 1 || got[0] != "a" {
		t.Errorf("indexed by %q", got)
	}
}
