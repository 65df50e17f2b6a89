// SPDX-License-Identifier: Apache-2.0

package caching

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// ReferenceIndex indexes custom resources by the objects that they refer to, and by their distribution.
const ReferenceIndex = "references"

// kindDistribution is the kind of distributions in the index; they have no namespace.
const kindDistribution = "distribution"

// New returns the constructor of a manager's cache, which adds optional kinds of the cluster.
func New(ctx context.Context) cache.NewCacheFunc {
	return func(config *rest.Config, options cache.Options) (cache.Cache, error) {
		apis, err := gather.EdgeAPIs(options.Mapper)
		if err != nil {
			return nil, err
		}
		edge := apply.EdgeKinds(apis)
		for _, kind := range edge {
			options.ByObject[kind] = ownObjects()
		}
		c, err := cache.New(config, options)
		if err != nil {
			return nil, err
		}
		for _, kind := range slices.Concat(apply.OwnedKinds(), edge, []client.Object{&corev1.Pod{}}) {
			if err := c.IndexField(ctx, kind, apply.InstanceIndex, apply.Instance); err != nil {
				return nil, fmt.Errorf("index %T: %w", kind, err)
			}
		}
		return c, errors.Join(
			c.IndexField(ctx, &appsv1.Deployment{}, gather.DatabaseIndex, gather.Databases),
			c.IndexField(ctx, &appsv1.Deployment{}, gather.ShareIndex, gather.SharedHost),
			c.IndexField(ctx, gather.NewTree(), ReferenceIndex, References),
			c.IndexField(ctx, gather.NewTree(), gather.HostIndex, gather.IndexHosts))
	}
}

// IndexValue returns the value of an object in ReferenceIndex.
func IndexValue(kind, namespace, name string) string { return kind + " " + namespace + "/" + name }

// UsersOfDistribution returns the index values of custom resources with this distribution or an image.
func UsersOfDistribution(name string) []string {
	return []string{IndexValue(kindDistribution, "", name), IndexValue(kindDistribution, "", "")}
}

// References returns the values of an undecoded custom resource in ReferenceIndex; none if reading it panics.
func References(o client.Object) []string {
	defer problem.CatchReadPanic(logf.Log, o, "panic while indexing a custom resource")
	cr := &v1alpha2.LlamaStackDistribution{}
	_ = gather.Decode(o, cr) // its reconcile reports the error
	values := []string{IndexValue(kindDistribution, "", ptr.Deref(cr.Spec.Distribution.Name, ""))}
	for _, ref := range build.References(cr) {
		values = append(values, IndexValue(ref.Kind, ref.Namespace, ref.Name))
	}
	for _, claim := range []string{
		objects.NamedClaim(&cr.Spec), ptr.Deref(objects.ModelCache(&cr.Spec).ClaimName, ""),
	} {
		if claim != "" {
			values = append(values, IndexValue(objects.KindPVC, cr.Namespace, claim))
		}
	}
	for _, ref := range serverconfig.EndpointUses(parse.Parse(&cr.Spec)) {
		values = append(values, EndpointValue(ref.Kind, cmp.Or(ref.Namespace, cr.Namespace), ref.Name))
	}
	return values
}

// EndpointValue returns the value of an endpoint's object in ReferenceIndex.
func EndpointValue(kind parse.EndpointKind, namespace, name string) string {
	return IndexValue("endpoint "+string(kind), namespace, name)
}
