// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/llamastack/llama-stack-k8s-operator/internal/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/caching"
	"github.com/llamastack/llama-stack-k8s-operator/internal/desired"
	"github.com/llamastack/llama-stack-k8s-operator/internal/endpoint"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/parse"
)

// absentDelay is how often a custom resource is reconciled that refers to a kind which the cluster does not have.
const absentDelay = 15 * time.Second

// endpointWatches watches the metadata of Services and of KServe's model servers, each kind from the first custom resource on that refers to it.
type endpointWatches struct {
	controller controller.Controller
	cache      cache.Cache
	handler    handler.EventHandler

	mu      sync.Mutex
	watched map[parse.EndpointKind]bool
}

// newEndpointWatches adds a cache to the manager which has only the identity of each object, of objects that belong to others.
func newEndpointWatches(mgr manager.Manager, o *Options) (*endpointWatches, error) {
	c, err := cache.New(mgr.GetConfig(), cacheOptions(mgr, o, onlyIdentity))
	if err == nil {
		err = mgr.Add(c)
	}
	if err != nil {
		return nil, fmt.Errorf("watch the objects of endpoints: %w", err)
	}
	return &endpointWatches{cache: c, watched: map[parse.EndpointKind]bool{}}, nil
}

// watch watches a kind from now on. Objects that exist already become events, too, so no change is missed of what was read before.
func (w *endpointWatches) watch(kind parse.EndpointKind) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watched[kind] {
		return nil
	}
	err := w.controller.Watch(source.Kind[client.Object](w.cache, apply.MetadataOf(endpoint.GroupVersionKind(kind)), w.handler))
	w.watched[kind] = err == nil
	return err
}

// watchEndpoints watches the kinds of the objects that the custom resource takes endpoints from. While the cluster lacks one, the custom resource is
// reconciled again and again.
func (r *Reconciler) watchEndpoints(ctx context.Context, s *scope) {
	for i := range s.gathered.Inputs.Endpoints {
		f := &s.gathered.Inputs.Endpoints[i]
		switch {
		case f.KindMissing:
			s.again = absentDelay
			continue
		case f.State == desired.Forbidden, f.State == desired.NotWatched:
			continue
		}
		if err := r.endpoints.watch(f.Ref.Kind); err != nil {
			logf.FromContext(ctx).Error(err, "the objects of endpoints cannot be watched", "kind", f.Ref.Kind)
			s.again = absentDelay
		}
	}
}

// referrersOfEndpoint maps an object to the custom resources that take an endpoint from it.
func (r *Reconciler) referrersOfEndpoint(ctx context.Context, o client.Object) []reconcile.Request {
	kind := parse.EndpointKind(o.GetObjectKind().GroupVersionKind().Kind)
	return r.requests(ctx, client.MatchingFields{caching.ReferenceIndex: caching.EndpointValue(kind, o.GetNamespace(), o.GetName())})
}

// onlyIdentity keeps the identity and the version of an object.
func onlyIdentity(in any) (any, error) {
	if o, ok := in.(*metav1.PartialObjectMetadata); ok {
		o.ObjectMeta = metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion}
	}
	return in, nil
}
