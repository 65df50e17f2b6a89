// SPDX-License-Identifier: Apache-2.0

package endpointwatch

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata/fake"

	"github.com/llamastack/llama-stack-k8s-operator/internal/endpoint"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/parse"
)

// A watch that was ended takes no event away from the one that was begun after it.
//
// Proves: R20.
func TestAnEndedWatchNotesNothing(t *testing.T) {
	referrer := types.NamespacedName{Namespace: "ai", Name: "one"}
	id := parse.Addressed{Kind: parse.KindService, Namespace: "ai", Name: "a"}
	w := New(t.Context(), nil, nil)
	w.objects[id] = &object{referrers: map[types.NamespacedName]bool{referrer: true}, version: unknown}
	seen := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: id.Namespace, Name: id.Name, ResourceVersion: "2"}}
	ended, end := context.WithCancel(t.Context())
	end()
	before := &store{watcher: w, ctx: ended, kind: id.Kind, namespace: metav1.NamespaceAll}
	for name, noted := range map[string]error{"an update": before.Update(seen), "a list": before.Replace(nil, "")} {
		if now := w.objects[id].version; noted != nil || now != unknown {
			t.Errorf("%s of an ended watch: version %q, %v", name, now, noted)
		}
	}
	if got := w.note(t.Context(), id, "2"); !slices.Equal(got, []types.NamespacedName{referrer}) {
		t.Errorf("the next watch finds %v to report, want %v", got, referrer)
	}
}

// Of foreign objects, which can be large and many, only identities are collected: from pages, and where they come one after the other.
//
// Proves: R7, R63.
func TestOnlyIdentitiesAreCollected(t *testing.T) {
	large := &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ai", Name: "a", ResourceVersion: "7", Annotations: map[string]string{"a": strings.Repeat("x", 200<<10)},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
		},
	}
	want := &metav1.PartialObjectMetadata{TypeMeta: large.TypeMeta, ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "a", ResourceVersion: "7"}}
	scheme := fake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	all := fake.NewSimpleMetadataClient(scheme, large)
	from := &source{all, all.Resource(endpoint.Resource(parse.KindService)).Namespace("ai")}
	list, err := from.ListWithContext(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]metav1.PartialObjectMetadata{*want}, list.(*metav1.PartialObjectMetadataList).Items); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, err := (&store{}).Transformer()(large); !cmp.Equal(got, any(want)) || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}
