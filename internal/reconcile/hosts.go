// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
)

// enqueueNextHostUser maps a custom resource to the next younger one with the same host, whose warning may change with
// it.
func enqueueNextHostUser(uses client.Reader, domain func() string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		next, err := gather.NextYounger(ctx, uses, o, domain())
		if err != nil {
			logf.FromContext(ctx).Error(err, "cannot list custom resources with the same host from the cache")
		}
		if next == nil {
			return nil
		}
		return []reconcile.Request{{NamespacedName: *next}}
	})
}

// hostsChanged passes creations after the initial list and updates that change the requested hosts.
func hostsChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList },
		UpdateFunc: func(e event.UpdateEvent) bool { return !gather.SameHosts(e.ObjectOld, e.ObjectNew) },
	}
}

// hostCache returns a cache with gather.HostIndex: the manager's, or with a selector another one of all custom
// resources.
func hostCache(ctx context.Context, mgr manager.Manager, o *Options) (cache.Cache, error) {
	if o.Selector == nil {
		return mgr.GetCache(), nil // package caching adds the index
	}
	uses, err := cache.New(mgr.GetConfig(), cacheOptions(mgr, o, stripToHosts))
	if err == nil {
		err = uses.IndexField(ctx, gather.NewTree(), gather.HostIndex, gather.IndexHosts)
	}
	if err == nil {
		err = mgr.Add(uses)
	}
	if err != nil {
		return nil, fmt.Errorf("watch the host names of all custom resources: %w", err)
	}
	return uses, nil
}

// cacheOptions returns the options of an additional cache in the manager's namespaces.
func cacheOptions(mgr manager.Manager, o *Options, transform func(any) (any, error)) cache.Options {
	options := cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), DefaultTransform: transform,
		DefaultNamespaces: map[string]cache.Config{},
	}
	for _, namespace := range o.Namespaces {
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options
}

// stripToHosts keeps the fields of a custom resource that gather.HostIndex is made from.
func stripToHosts(in any) (any, error) {
	u, ok := in.(*unstructured.Unstructured)
	if !ok {
		return in, nil
	}
	small := gather.NewTree()
	small.SetNamespace(u.GetNamespace())
	small.SetName(u.GetName())
	small.SetUID(u.GetUID())
	small.SetGeneration(u.GetGeneration())
	small.SetResourceVersion(u.GetResourceVersion())
	small.SetCreationTimestamp(u.GetCreationTimestamp())
	if expose, found, err := unstructured.NestedFieldNoCopy(u.Object, "spec", "networking", "expose"); found &&
		err == nil {
		small.Object["spec"] = map[string]any{"networking": map[string]any{"expose": expose}}
	}
	return small, nil
}
