// SPDX-License-Identifier: Apache-2.0

package caching

import (
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/desired"
	"github.com/llamastack/llama-stack-k8s-operator/internal/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// ReferenceIndex indexes custom resources by the Secrets and ConfigMaps that they refer to.
const ReferenceIndex = "references"

// IndexValue is the value of an object in the index.
func IndexValue(kind, namespace, name string) string { return kind + " " + namespace + "/" + name }

// kindDistribution stands in the index for the name of a distribution, which has no namespace.
const kindDistribution = "distribution"

// UsersOfDistribution returns the values of those who may use a distribution of this name: those that name it, and those that name an image.
func UsersOfDistribution(name string) []string {
	return []string{IndexValue(kindDistribution, "", name), IndexValue(kindDistribution, "", "")}
}

// References are the values of a custom resource in the index: the objects that it refers to, and the name of its distribution, which is empty where it
// names an image.
func References(o client.Object) []string {
	cr := o.(*v1alpha2.LlamaStackDistribution)
	values := []string{IndexValue(kindDistribution, "", ptr.Deref(cr.Spec.Distribution.Name, ""))}
	for _, ref := range desired.References(cr) {
		values = append(values, IndexValue(ref.Kind, ref.Namespace, ref.Name))
	}
	return values
}

// filter keeps the Secrets and ConfigMaps that the operator has to do with out of all those of a cluster, so that the others cost no memory.
type filter struct {
	// referred reports whether a custom resource refers to an object; it waits until these are known.
	referred func(value string) bool
	// defaults are what the operator's settings refer to.
	defaults *gather.Defaults
	// operatorNamespace has the ConfigMaps that register distributions, and registering the names of those that were kept as such.
	operatorNamespace string
	registering       sync.Map
}

// newInformer makes informers that never hold the metadata of a Secret or ConfigMap that the filter does not keep.
func (f *filter) newInformer(
	lw toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	kind := example.GetObjectKind().GroupVersionKind()
	if _, partial := example.(*metav1.PartialObjectMetadata); partial && kind.Group == "" &&
		slices.Contains([]string{objects.KindSecret, objects.KindConfigMap}, kind.Kind) {
		lw = &filtered{toolscache.ToListerWatcherWithContext(lw), lw, func(o metav1.Object) bool { return f.keeps(kind, o) }}
	}
	return toolscache.NewSharedIndexInformer(lw, example, resync, indexers)
}

// keeps reports whether an object is the operator's own, its settings, a registered distribution, a CA bundle of the platform, or one that a custom
// resource or its settings refer to.
// What is referred to from now on is kept from its next change on: the reconcile that the reference starts reads it.
func (f *filter) keeps(kind schema.GroupVersionKind, o metav1.Object) bool {
	switch {
	case o.GetLabels()[objects.LabelManagedBy] == objects.ManagedBy, metav1.GetControllerOf(o) != nil && metav1.GetControllerOf(o).Kind == v1alpha2.Kind:
		return true
	case f.defaults.Has(kind.Kind, o.GetName()):
		return true
	case kind.Kind == objects.KindConfigMap && (desired.IsPlatformBundle(o.GetName()) || o.GetName() == settings.ConfigMapName):
		return true
	case kind.Kind == objects.KindConfigMap && o.GetNamespace() == f.operatorNamespace && f.registers(o):
		return true
	}
	return f.referred(IndexValue(kind.Kind, o.GetNamespace(), o.GetName()))
}

// registers reports whether a ConfigMap of the operator's namespace registers a distribution, or did before: that it does no longer must be seen, once.
func (f *filter) registers(o metav1.Object) bool {
	if _, labeled := o.GetLabels()[settings.LabelDistribution]; labeled {
		f.registering.Store(o.GetName(), true)
		return true
	}
	_, did := f.registering.LoadAndDelete(o.GetName())
	return did
}

// isReferred reports whether a custom resource in the cache refers to an object. The cache's own trees are only counted. Where that cannot be
// known, the object is kept.
func isReferred(ctx context.Context, c cache.Cache, value string) bool {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(v1alpha2.GroupVersion.WithKind(v1alpha2.Kind + "List"))
	err := c.List(ctx, list, client.MatchingFields{ReferenceIndex: value}, client.UnsafeDisableDeepCopy, client.Limit(1))
	return err != nil || len(list.Items) > 0
}

// filtered lists and watches, and passes on only what is kept.
type filtered struct {
	toolscache.ListerWatcherWithContext
	inner any
	keeps func(metav1.Object) bool
}

// List is there for the interface: a reflector calls ListWithContext.
func (f *filtered) List(options metav1.ListOptions) (runtime.Object, error) {
	return f.ListWithContext(context.Background(), options)
}

// Watch is there for the interface: a reflector calls WatchWithContext.
func (f *filtered) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return f.WatchWithContext(context.Background(), options)
}

// IsWatchListSemanticsUnSupported reports what the client cannot do.
func (f *filtered) IsWatchListSemanticsUnSupported() bool {
	return watchlist.DoesClientNotSupportWatchListSemantics(f.inner)
}

// ListWithContext lists a page, and leaves out of it what is not kept.
func (f *filtered) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := f.ListerWatcherWithContext.ListWithContext(ctx, options)
	if l, ok := list.(*metav1.PartialObjectMetadataList); ok && err == nil {
		kept := make([]metav1.PartialObjectMetadata, 0, len(l.Items)/8)
		for i := range l.Items {
			if f.keeps(&l.Items[i]) {
				kept = append(kept, l.Items[i])
			}
		}
		l.Items = kept
	}
	return list, err
}

// WatchWithContext watches, and leaves out what is not kept.
func (f *filtered) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	w, err := f.ListerWatcherWithContext.WatchWithContext(ctx, options)
	if err != nil {
		return nil, err
	}
	return newSieve(w, f.keeps), nil
}

// sieve passes on the events of a watch that are about what is kept.
type sieve struct {
	from watch.Interface
	to   chan watch.Event
	done <-chan struct{}
	stop context.CancelFunc
}

func newSieve(from watch.Interface, keeps func(metav1.Object) bool) *sieve {
	ctx, stop := context.WithCancel(context.Background())
	s := &sieve{from: from, to: make(chan watch.Event), done: ctx.Done(), stop: stop}
	go func() {
		defer close(s.to)
		for event := range from.ResultChan() {
			if o, ok := event.Object.(*metav1.PartialObjectMetadata); ok && event.Type != watch.Bookmark && event.Type != watch.Error && !keeps(o) {
				continue
			}
			// What was not kept before is not known to be there: an informer ignores that it goes.
			if event.Type == watch.Deleted && !s.send(watch.Event{Type: watch.Modified, Object: event.Object}) || !s.send(event) {
				return
			}
		}
	}()
	return s
}

func (s *sieve) send(event watch.Event) bool {
	select {
	case s.to <- event:
		return true
	case <-s.done:
		return false
	}
}

// Stop ends the watch.
func (s *sieve) Stop() {
	s.stop()
	s.from.Stop()
}

// ResultChan has the events.
func (s *sieve) ResultChan() <-chan watch.Event { return s.to }
