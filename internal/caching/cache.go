// SPDX-License-Identifier: Apache-2.0

package caching

import (
	"context"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/readable"
)

// New returns what makes the cache of the operator from what Options returned. Kinds that the cluster may lack are added here, because a cache cannot be made
// with kinds that the cluster does not have.
//
// The context is that of the cache's whole life. What the operator's settings refer to is known from the first reconcile on: its Gatherer has to have the
// same Defaults. Of the custom resources, it holds those that the selector selects; nil means all.
func New(ctx context.Context, defaults *gather.Defaults, operatorNamespace string, selector labels.Selector) cache.NewCacheFunc {
	return func(config *rest.Config, options cache.Options) (cache.Cache, error) {
		return newCache(ctx, config, options, selector, &filter{defaults: defaults, operatorNamespace: operatorNamespace})
	}
}

func newCache(ctx context.Context, config *rest.Config, options cache.Options, selector labels.Selector, f *filter) (cache.Cache, error) {
	apis, err := gather.EdgeAPIs(options.Mapper)
	if err != nil {
		return nil, err
	}
	edge := apply.EdgeKinds(apis)
	for _, kind := range edge {
		options.ByObject[kind] = ownObjects()
	}
	options.NewInformer = f.newInformer
	c, err := readable.NewCache(config, options, selector)
	if err != nil {
		return nil, err
	}
	f.referred = func(value string) bool { return isReferred(ctx, c, value) }
	if err := c.IndexField(ctx, &v1alpha2.LlamaStackDistribution{}, ReferenceIndex, References); err != nil {
		return nil, err
	}
	return newByInstance(ctx, &deployments{c}, options.Scheme, instanceKinds(edge))
}
