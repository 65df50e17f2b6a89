// SPDX-License-Identifier: Apache-2.0

package endpointwatch_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/endpoint"
	"github.com/llamastack/llama-stack-k8s-operator/internal/endpointwatch"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/parse"
)

func service(name, version string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: name, ResourceVersion: version},
	}
}

func newClient(initial ...runtime.Object) *fake.FakeMetadataClient {
	scheme := fake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		panic(err)
	}
	return fake.NewSimpleMetadataClient(scheme, initial...)
}

func to(names ...string) []parse.Addressed {
	var list []parse.Addressed
	for _, name := range names {
		list = append(list, parse.Addressed{Kind: parse.KindService, Namespace: "ai", Name: name})
	}
	return list
}

// expect waits for an event about each of the custom resources, in any order, and until what is watched is watched: the client forgets what
// happens before.
func expect(t *testing.T, w *endpointwatch.Watcher, want ...string) {
	t.Helper()
	var got []string
	for len(got) < len(want) {
		select {
		case e := <-w.Events():
			got = append(got, e.Object.GetName())
		case <-time.After(time.Minute):
			t.Fatalf("got events about %v, want %v", got, want)
		}
	}
	synctest.Wait()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Fatalf("got events about %v, want %v", got, want)
	}
}

// Every change of an object is an event for the custom resources that refer to it, and for no others; nothing is asked without a reference, and nothing
// after the last one is gone.
//
// Proves: R20, R55.
func TestChangesOfWhatIsReferredToAreEvents(t *testing.T) {
	synctest.Test(t, testChanges)
}

func testChanges(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	client := newClient(service("a", "1"), service("other", "1"))
	w := endpointwatch.New(ctx, client, nil)
	services := client.Resource(endpoint.Resource(parse.KindService)).Namespace("ai").(fake.MetadataClient)
	one, two := types.NamespacedName{Namespace: "ai", Name: "one"}, types.NamespacedName{Namespace: "ai", Name: "two"}
	if n := len(client.Actions()); n != 0 {
		t.Fatalf("%d requests without a reference", n)
	}
	w.Watch(one, to("a", "missing"))
	expect(t, w, "one", "one") // one is there, the other is not
	w.Watch(two, to("a"))
	must(t)(services.UpdateFake(service("other", "2"), metav1.UpdateOptions{}))
	must(t)(services.UpdateFake(service("a", "2"), metav1.UpdateOptions{}))
	expect(t, w, "one", "two")
	must(t)(services.CreateFake(service("missing", "3"), metav1.CreateOptions{}))
	expect(t, w, "one")
	w.Forget(one)
	must(t)(services.UpdateFake(service("missing", "4"), metav1.UpdateOptions{}))
	if err := services.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	expect(t, w, "two")
	w.Forget(two)
	before := len(client.Actions())
	must(t)(services.CreateFake(service("a", "5"), metav1.CreateOptions{}))
	w.Watch(one, to("a")) // watched from the beginning again
	expect(t, w, "one")
	if after := len(client.Actions()) - before; after < 3 { // the creation, a list and a watch
		t.Errorf("%d requests after a new reference", after)
	}
	stop()
	synctest.Wait()
}

// A kind that the cluster does not have is looked for until it is there.
//
// Proves: R20.
func TestAnAbsentKindIsLookedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient(service("a", "1"))
		absent := 3
		client.PrependReactor("list", "services", func(clienttesting.Action) (bool, runtime.Object, error) {
			absent--
			if absent < 0 {
				return false, nil, nil
			}
			return true, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "services"}, "")
		})
		ctx, stop := context.WithCancel(t.Context())
		w := endpointwatch.New(ctx, client, []string{"ai"})
		w.Watch(types.NamespacedName{Namespace: "ai", Name: "one"}, to("a"))
		expect(t, w, "one")
		stop()
		synctest.Wait()
	})
}

func must(t *testing.T) func(*metav1.PartialObjectMetadata, error) {
	return func(_ *metav1.PartialObjectMetadata, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}
