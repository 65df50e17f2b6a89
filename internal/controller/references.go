// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/desired"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
)

const (
	// secretIndex indexes resources by the names of the Secrets that their specs refer to.
	secretIndex = "spec.secretRefs"
	// configMapIndex indexes resources by the ConfigMaps, with their namespaces, that they refer to.
	configMapIndex = "spec.configMapRefs"
)

func indexReferences(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &v1alpha2.LlamaStackDistribution{}, configMapIndex, func(o client.Object) []string {
		cr := o.(*v1alpha2.LlamaStackDistribution)
		var names []string
		if ref, ok := desired.OverrideRef(cr); ok {
			names = append(names, ref.String())
		}
		if bundle := desired.CABundleOf(cr); bundle != nil {
			names = append(names, bundle.Namespace+"/"+bundle.Name)
		} else {
			names = append(names, cr.Namespace+"/"+desired.PlatformBundle)
		}
		return append(names, podReferences(cr, objects.KindConfigMap, cr.Namespace+"/")...)
	})
	if err != nil {
		return err
	}
	return indexer.IndexField(ctx, &v1alpha2.LlamaStackDistribution{}, secretIndex, func(o client.Object) []string {
		cr := o.(*v1alpha2.LlamaStackDistribution)
		uses, _ := config.SecretUses(&cr.Spec) // a reconcile reports wrong references
		names := make([]string, 0, len(uses))
		for _, use := range uses {
			names = append(names, use.Ref.Name)
		}
		return append(names, podReferences(cr, objects.KindSecret, "")...)
	})
}

// podReferences names what the overrides bring into the pods, of one kind.
func podReferences(cr *v1alpha2.LlamaStackDistribution, kind, prefix string) []string {
	var names []string
	for _, ref := range objects.PodReferences(&cr.Spec) {
		if ref.Kind == kind {
			names = append(names, prefix+ref.Name)
		}
	}
	return names
}

// referrersOfSecret maps a Secret to the resources that refer to it.
func (r *Reconciler) referrersOfSecret(ctx context.Context, o client.Object) []reconcile.Request {
	return r.requests(ctx, client.InNamespace(o.GetNamespace()), client.MatchingFields{secretIndex: o.GetName()})
}

// referrersOfConfigMap maps a ConfigMap to the resources that refer to it, and the operator's own to every resource.
func (r *Reconciler) referrersOfConfigMap(operatorNamespace string) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		if o.GetNamespace() != operatorNamespace || o.GetName() != settings.ConfigMapName {
			return r.requests(ctx, client.MatchingFields{configMapIndex: o.GetNamespace() + "/" + o.GetName()})
		}
		return r.requests(ctx)
	}
}

func (r *Reconciler) requests(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	var list v1alpha2.LlamaStackDistributionList
	if err := r.client.List(ctx, &list, options...); err != nil {
		logf.FromContext(ctx).Error(err, "resources could not be listed from the cache")
		return nil
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{
			Namespace: list.Items[i].Namespace, Name: list.Items[i].Name,
		}})
	}
	return requests
}
