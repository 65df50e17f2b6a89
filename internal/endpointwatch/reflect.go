// SPDX-License-Identifier: Apache-2.0

package endpointwatch

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"

	"github.com/llamastack/llama-stack-k8s-operator/internal/endpoint"
	"github.com/llamastack/llama-stack-k8s-operator/internal/lanes"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/parse"
)

const (
	// absentDelay is how often a kind is looked for that the cluster does not have.
	absentDelay = 15 * time.Second
	// pageSize is how many objects one answer to a list holds. Everybody who may create a Service can give it a megabyte of metadata.
	pageSize = 20
)

// watch watches the objects of a kind in a namespace until the context ends.
func (w *Watcher) watch(ctx context.Context, kind parse.EndpointKind, namespace string) {
	from := &source{w.client, w.client.Resource(endpoint.Resource(kind)).Namespace(namespace)}
	to := &store{watcher: w, ctx: ctx, kind: kind, namespace: namespace}
	reflector := toolscache.NewReflectorWithOptions(from, &metav1.PartialObjectMetadata{}, to, toolscache.ReflectorOptions{
		Name: "endpoints", TypeDescription: string(kind),
	})
	reflector.WatchListPageSize = pageSize
	reflector.RunWithContext(ctx)
}

// source lists and watches the metadata of objects.
type source struct {
	whole  metadata.Interface
	client metadata.ResourceInterface
}

// List is there for the interface: a reflector calls ListWithContext.
func (s *source) List(options metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), options)
}

// Watch is there for the interface: a reflector calls WatchWithContext.
func (s *source) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), options)
}

// IsWatchListSemanticsUnSupported reports what the client cannot do. Those that can get the objects one after the other where the cluster sends them so,
// and otherwise in pages.
func (s *source) IsWatchListSemanticsUnSupported() bool {
	return watchlist.DoesClientNotSupportWatchListSemantics(s.whole)
}

// ListWithContext lists a page, of which only identities are left: the pages are collected. While the cluster does not have the kind, it waits.
func (s *source) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	var list *metav1.PartialObjectMetadataList
	err := s.whenThere(ctx, func() (err error) {
		list, err = s.client.List(ctx, options)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		list.Items[i] = *identity(&list.Items[i])
	}
	return list, nil
}

// WatchWithContext watches. While the cluster does not have the kind, it waits.
func (s *source) WatchWithContext(ctx context.Context, options metav1.ListOptions) (events watch.Interface, _ error) {
	err := s.whenThere(ctx, func() (err error) {
		events, err = s.client.Watch(ctx, options)
		return err
	})
	return events, err
}

// whenThere asks until the cluster has the kind.
func (*source) whenThere(ctx context.Context, ask func() error) error {
	for {
		if err := ask(); !apierrors.IsNotFound(err) {
			return err
		}
		if !lanes.Wait(ctx, absentDelay) {
			return ctx.Err()
		}
	}
}

// identity is what is used of an object.
func identity(o *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta: o.TypeMeta, ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, ResourceVersion: o.ResourceVersion},
	}
}

var _ toolscache.TransformingStore = (*store)(nil)

// store turns what a reflector has seen into events, and keeps nothing of it.
type store struct {
	watcher   *Watcher
	ctx       context.Context //nolint:containedctx // that of the reflector, whose interface has none
	kind      parse.EndpointKind
	namespace string
}

// note notes the version of an object that was seen.
func (s *store) note(seen any, version func(*metav1.PartialObjectMetadata) string) error {
	o, ok := seen.(*metav1.PartialObjectMetadata)
	if !ok {
		return fmt.Errorf("got %T instead of metadata", seen)
	}
	s.watcher.announce(s.ctx, s.watcher.note(s.ctx, s.id(o), version(o)))
	return nil
}

// current is the version of an object that exists, and none that of one that does not.
func current(o *metav1.PartialObjectMetadata) string { return o.ResourceVersion }
func none(*metav1.PartialObjectMetadata) string      { return gone }

func (s *store) id(o *metav1.PartialObjectMetadata) parse.Addressed {
	return parse.Addressed{Kind: s.kind, Namespace: o.Namespace, Name: o.Name}
}

// Add notes an object that has come.
func (s *store) Add(o any) error { return s.note(o, current) }

// Update notes an object that has changed.
func (s *store) Update(o any) error { return s.note(o, current) }

// Delete notes an object that is gone.
func (s *store) Delete(o any) error { return s.note(o, none) }

// Transformer makes the reflector collect only identities of the objects that exist at first.
func (*store) Transformer() toolscache.TransformFunc {
	return func(seen any) (any, error) {
		if o, ok := seen.(*metav1.PartialObjectMetadata); ok {
			return identity(o), nil
		}
		return seen, nil
	}
}

// Resync does nothing.
func (*store) Resync() error { return nil }

// Replace notes all objects that there are.
func (s *store) Replace(list []any, _ string) error {
	existing := make(map[parse.Addressed]bool, len(list))
	for _, seen := range list {
		if o, ok := seen.(*metav1.PartialObjectMetadata); ok {
			existing[s.id(o)] = true
		}
		if err := s.note(seen, current); err != nil {
			return err
		}
	}
	for _, id := range s.watcher.missing(s.kind, s.namespace, existing) {
		s.watcher.announce(s.ctx, s.watcher.note(s.ctx, id, gone))
	}
	return nil
}
