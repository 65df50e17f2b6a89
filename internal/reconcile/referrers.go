// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/caching"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// referrersOf maps an object to the custom resources that refer to it, themselves or by the operator's settings.
func (r *Reconciler) referrersOf(kind string) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		found := r.requests(ctx, client.MatchingFields{caching.ReferenceIndex: caching.IndexValue(kind, o.GetNamespace(),
			o.GetName())})
		known := r.settings.Current()
		if known != nil && slices.ContainsFunc(build.DefaultReferences(known.PodDefaults, o.GetNamespace()),
			func(ref objects.Reference) bool {
				return ref.Kind == kind && ref.Name == o.GetName()
			}) {
			found = append(found, r.requests(ctx, client.InNamespace(o.GetNamespace()))...) // the queue removes duplicates
		}
		return found
	}
}

// usersOfDatabases maps a Deployment to the other custom resources that use a database of its server.
func (r *Reconciler) usersOfDatabases(ctx context.Context, o client.Object) []reconcile.Request {
	self := types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetLabels()[names.LabelInstance]}
	var requests []reconcile.Request
	for _, hash := range gather.Databases(o) {
		users, err := gather.UsersOfDatabase(ctx, r.client, self, hash)
		if err != nil {
			logf.FromContext(ctx).Error(err, "cannot list Deployments from the cache")
		}
		for _, user := range users {
			requests = append(requests, reconcile.Request{NamespacedName: user})
		}
	}
	return requests
}

// sharersOf maps a Deployment to the other custom resources with the host name whose requests its server shares.
func sharersOf(hosts client.Reader) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		share, found := objects.ShareOf(o)
		if !found {
			return nil
		}
		sharers, err := gather.SharersOfHost(ctx, hosts, types.NamespacedName{Namespace: o.GetNamespace(), Name: share.Name},
			share.Host)
		if err != nil {
			logf.FromContext(ctx).Error(err, "cannot list custom resources with the same host from the cache")
		}
		var requests []reconcile.Request
		for _, sharer := range sharers {
			requests = append(requests, reconcile.Request{NamespacedName: sharer})
		}
		return requests
	}
}

// settingsChanges enqueues the custom resources that a change of the settings or of a registered distribution affects.
func (r *Reconciler) settingsChanges() source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		return r.settings.Watch(ctx, func(o client.Object) {
			for _, request := range r.settingsReferrers(ctx, o) {
				queue.Add(request)
			}
		})
	})
}

// settingsReferrers maps a ConfigMap of the operator's namespace to the custom resources that use it.
func (r *Reconciler) settingsReferrers(ctx context.Context, o client.Object) []reconcile.Request {
	if o.GetName() == settings.ConfigMapName {
		return r.requests(ctx)
	}
	var found []reconcile.Request
	for _, value := range caching.UsersOfDistribution(o.GetLabels()[settings.LabelDistribution]) {
		found = append(found, r.requests(ctx, client.MatchingFields{caching.ReferenceIndex: value})...)
	}
	return found
}

func (r *Reconciler) requests(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	list := gather.NewTrees()
	if err := r.client.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		logf.FromContext(ctx).Error(err, "cannot list custom resources from the cache")
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
