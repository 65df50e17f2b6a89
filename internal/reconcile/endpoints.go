// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/caching"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/endpoint"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// missingKindDelay is the requeue delay of a custom resource that refers to a kind without a CRD in the cluster.
const missingKindDelay = 15 * time.Second

// endpointWatches returns a function for each kind of endpoint that starts its watch once, in a cache of identities. It
// sets watchClaims to one for PVCs.
func (r *Reconciler) endpointWatches(mgr manager.Manager, o *Options,
	target controller.Controller) (map[parse.EndpointKind]func(), error) {
	c, err := cache.New(mgr.GetConfig(), cacheOptions(mgr, o, stripToIdentity))
	if err == nil {
		err = mgr.Add(c)
	}
	if err != nil {
		return nil, fmt.Errorf("watch the objects of endpoints: %w", err)
	}
	watches := map[parse.EndpointKind]func(){}
	for _, kind := range []parse.EndpointKind{parse.KindService, parse.KindInferenceService,
		parse.KindLLMInferenceService} {
		watches[kind] = sync.OnceFunc(func() {
			handle := handler.EnqueueRequestsFromMapFunc(r.referrersOfEndpoint)
			// Watch fails only without a type, cache or handler; the cache retries failed lists.
			_ = target.Watch(source.Kind[client.Object](c, apply.MetadataOf(endpoint.GroupVersionKind(kind)), handle))
		})
	}
	r.watchClaims = sync.OnceFunc(func() {
		handle := handler.EnqueueRequestsFromMapFunc(r.referrersOf(objects.KindPVC))
		_ = target.Watch(source.Kind[client.Object](c, apply.MetadataOf(corev1.SchemeGroupVersion.WithKind(objects.KindPVC)),
			handle, ignoreUpdate()))
	})
	return watches, nil
}

// watchEndpoints watches the kinds of the referenced endpoints and PVCs, and requeues the custom resource while a kind
// is missing.
func (r *Reconciler) watchEndpoints(s *scope) {
	if s.gathered.Inputs.Claim != nil || s.gathered.Inputs.ModelCacheClaim != nil {
		r.watchClaims()
	}
	for i := range s.gathered.Inputs.Endpoints {
		f := &s.gathered.Inputs.Endpoints[i]
		switch {
		case f.KindMissing:
			s.requeueAfter = missingKindDelay
		case f.State != build.Forbidden && f.State != build.NotWatched:
			r.watchEndpoint[f.Ref.Kind]()
		}
	}
}

// referrersOfEndpoint maps an object to the custom resources that take an endpoint from it.
func (r *Reconciler) referrersOfEndpoint(ctx context.Context, o client.Object) []reconcile.Request {
	kind := parse.EndpointKind(o.GetObjectKind().GroupVersionKind().Kind)
	return r.requests(ctx, client.MatchingFields{caching.ReferenceIndex: caching.EndpointValue(kind, o.GetNamespace(),
		o.GetName())})
}

// stripToIdentity strips an object to its identity and resource version.
func stripToIdentity(in any) (any, error) {
	if o, ok := in.(*metav1.PartialObjectMetadata); ok {
		o.ObjectMeta = metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion}
	}
	return in, nil
}
