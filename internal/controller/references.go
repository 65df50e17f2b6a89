// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/llamastack/llama-stack-k8s-operator/internal/caching"
	"github.com/llamastack/llama-stack-k8s-operator/internal/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// referrersOfSecret maps a Secret to the resources that refer to it.
func (r *Reconciler) referrersOfSecret(ctx context.Context, o client.Object) []reconcile.Request {
	return r.referrers(ctx, objects.KindSecret, o)
}

// referrers are the resources that refer to an object: also all of its namespace where the operator's settings do so for them.
func (r *Reconciler) referrers(ctx context.Context, kind string, o client.Object) []reconcile.Request {
	found := r.requests(ctx, client.MatchingFields{caching.ReferenceIndex: caching.IndexValue(kind, o.GetNamespace(), o.GetName())})
	if r.defaults.Has(kind, o.GetName()) {
		found = append(found, r.requests(ctx, client.InNamespace(o.GetNamespace()))...) // the queue has each only once
	}
	return found
}

// referrersOfConfigMap maps a ConfigMap to the resources that refer to it, one that registers a distribution to those that may use it, and the operator's own
// to every resource.
func (r *Reconciler) referrersOfConfigMap(operatorNamespace string) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		if o.GetNamespace() != operatorNamespace {
			return r.referrers(ctx, objects.KindConfigMap, o)
		}
		if o.GetName() == settings.ConfigMapName {
			return r.requests(ctx)
		}
		found := r.referrers(ctx, objects.KindConfigMap, o)
		if name, registers := o.GetLabels()[settings.LabelDistribution]; registers {
			for _, value := range caching.UsersOfDistribution(name) {
				found = append(found, r.requests(ctx, client.MatchingFields{caching.ReferenceIndex: value})...)
			}
		}
		return found
	}
}

func (r *Reconciler) requests(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	list := gather.NewTrees()
	if err := r.client.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		logf.FromContext(ctx).Error(err, "resources could not be listed from the cache")
		return nil
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{
			Namespace: list.Items[i].GetNamespace(), Name: list.Items[i].GetName(),
		}})
	}
	return requests
}
