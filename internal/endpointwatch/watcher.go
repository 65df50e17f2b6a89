// SPDX-License-Identifier: Apache-2.0

package endpointwatch

import (
	"context"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/llamastack/llama-stack-k8s-operator/pkg/parse"
)

// Watcher watches what custom resources refer to. New makes it.
type Watcher struct {
	client     metadata.Interface
	namespaces []string
	events     chan event.GenericEvent

	ctx context.Context //nolint:containedctx // the manager's: it ends the watches

	mu sync.Mutex
	// objects are those that are referred to, and references the same by custom resource.
	objects    map[parse.Addressed]*object
	references map[types.NamespacedName][]parse.Addressed
	// watches end the watches of a kind.
	watches map[parse.EndpointKind]context.CancelFunc
}

// object is what is known of an object.
type object struct {
	referrers map[types.NamespacedName]bool
	// version is its version, or unknown, or gone.
	version string
}

// What stands for a version.
const (
	unknown = "unknown"
	gone    = ""
)

// New returns a watcher of the namespaces; none means all. It asks the API server nothing until something is referred to.
func New(ctx context.Context, client metadata.Interface, namespaces []string) *Watcher {
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	return &Watcher{
		ctx: ctx, client: client, namespaces: namespaces, events: make(chan event.GenericEvent),
		objects: map[parse.Addressed]*object{}, references: map[types.NamespacedName][]parse.Addressed{},
		watches: map[parse.EndpointKind]context.CancelFunc{},
	}
}

// Events is the channel of events: each names a custom resource that refers to an object which has changed.
func (w *Watcher) Events() <-chan event.GenericEvent { return w.events }

// Watch watches the objects for a custom resource from now on, and no others. No change is missed of what is read after it returns.
func (w *Watcher) Watch(referrer types.NamespacedName, to []parse.Addressed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if slices.Equal(w.references[referrer], to) {
		return
	}
	for _, id := range w.references[referrer] {
		if o := w.objects[id]; o != nil && !slices.Contains(to, id) {
			delete(o.referrers, referrer)
			if len(o.referrers) == 0 {
				delete(w.objects, id)
			}
		}
	}
	delete(w.references, referrer)
	if len(to) > 0 {
		w.references[referrer] = slices.Clone(to)
	}
	for _, id := range to {
		if w.objects[id] == nil {
			w.objects[id] = &object{referrers: map[types.NamespacedName]bool{}, version: unknown}
		}
		w.objects[id].referrers[referrer] = true
	}
	w.adjust()
}

// Forget ends the watches for a custom resource that is gone.
func (w *Watcher) Forget(referrer types.NamespacedName) { w.Watch(referrer, nil) }

// adjust starts the watches of kinds that are referred to, and ends the others. The lock is held.
func (w *Watcher) adjust() {
	kinds := map[parse.EndpointKind]bool{}
	for id := range w.objects {
		kinds[id.Kind] = true
	}
	for kind, stop := range w.watches {
		if !kinds[kind] {
			stop()
			delete(w.watches, kind)
		}
	}
	for kind := range kinds {
		if w.watches[kind] == nil {
			ctx, stop := context.WithCancel(w.ctx)
			w.watches[kind] = stop
			for _, namespace := range w.namespaces {
				go w.watch(ctx, kind, namespace)
			}
		}
	}
}

// note notes the version of an object and returns the custom resources that it matters to: none where nothing has changed. A watch that was ended
// notes nothing: it cannot announce it any more, and the next watch would find nothing new. Watches end under the lock.
func (w *Watcher) note(ctx context.Context, id parse.Addressed, version string) []types.NamespacedName {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.objects[id]
	if o == nil || o.version == version || ctx.Err() != nil {
		return nil
	}
	o.version = version
	return slices.Collect(maps.Keys(o.referrers))
}

// missing returns the objects of a kind in a namespace, or in all, that are not among the existing ones, and are not known to be gone.
func (w *Watcher) missing(kind parse.EndpointKind, namespace string, existing map[parse.Addressed]bool) []parse.Addressed {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []parse.Addressed
	for id, o := range w.objects {
		if id.Kind == kind && o.version != gone && !existing[id] && (namespace == metav1.NamespaceAll || namespace == id.Namespace) {
			list = append(list, id)
		}
	}
	return list
}

// announce sends an event for each of the custom resources.
func (w *Watcher) announce(ctx context.Context, names []types.NamespacedName) {
	for _, name := range names {
		about := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
		select {
		case w.events <- event.GenericEvent{Object: about}:
		case <-ctx.Done():
			return
		}
	}
}
