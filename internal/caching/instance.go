// SPDX-License-Identifier: Apache-2.0

package caching

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/llamastack/llama-stack-k8s-operator/internal/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
)

// instanceIndex indexes the operator's own objects by the custom resource that they are for.
const instanceIndex = "instance"

// byInstance answers by an index what is listed of one custom resource. Without it, a cache compares the labels of all objects of the namespace: the reconciles
// of many custom resources in one namespace would take time by the square of their number.
type byInstance struct {
	cache.Cache
	scheme  *runtime.Scheme
	indexed map[indexedKind]bool
}

// indexedKind is a kind as a cache holds it.
type indexedKind struct {
	schema.GroupVersionKind
	metadata bool
}

// newByInstance indexes the kinds in the cache, which is not yet started.
func newByInstance(ctx context.Context, c cache.Cache, scheme *runtime.Scheme, kinds []client.Object) (*byInstance, error) {
	b := &byInstance{c, scheme, map[indexedKind]bool{}}
	for _, kind := range kinds {
		key, err := b.key(kind)
		if err != nil {
			return nil, err
		}
		if err := c.IndexField(ctx, kind, instanceIndex, instance); err != nil {
			return nil, err
		}
		b.indexed[key] = true
	}
	return b, nil
}

// instanceKinds are the kinds that are listed by custom resource.
func instanceKinds(edge []client.Object) []client.Object {
	return slices.Concat(apply.OwnedKinds(), edge, []client.Object{&corev1.Pod{}})
}

func instance(o client.Object) []string {
	if name, ok := o.GetLabels()[objects.LabelInstance]; ok {
		return []string{name}
	}
	return nil
}

// List uses the index where the labels name one custom resource, and no fields are asked for.
func (b *byInstance) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(options)
	if o.LabelSelector != nil && o.FieldSelector == nil && b.has(list) {
		if name, exact := o.LabelSelector.RequiresExactMatch(objects.LabelInstance); exact {
			options = append(slices.Clip(options), client.MatchingFields{instanceIndex: name})
		}
	}
	return b.Cache.List(ctx, list, options...)
}

func (b *byInstance) has(list client.ObjectList) bool {
	key, err := b.key(list)
	return err == nil && b.indexed[key]
}

// key is the kind of an object, or of the items of a list.
func (b *byInstance) key(of runtime.Object) (indexedKind, error) {
	gvk, err := apiutil.GVKForObject(of, b.scheme)
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	switch of.(type) {
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return indexedKind{gvk, true}, err
	}
	return indexedKind{gvk, false}, err
}
