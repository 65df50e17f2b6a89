// SPDX-License-Identifier: Apache-2.0

package readable

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	kjson "sigs.k8s.io/json"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/packed"
	"github.com/llamastack/llama-stack-k8s-operator/internal/panics"
)

// NewCache makes a cache in which one resource that Go's types cannot read is one resource's trouble.
//
// The schema admits a few values that the types refuse: an exponent with a fraction in a quantity, a number beyond 32 bits
// where a number or a percentage may stand. The schema of v1alpha1 cannot be made stricter, and no schema is a proof. A cache of typed
// objects fails as a whole where one of them cannot be read, and the operator would watch nothing any more. So this
// one holds the JSON text of each, compressed, a small part of the size of the tree that it was, and decodes it for who asks for it.
//
// It holds those that the selector selects, and all of them where it is nil: the API server sends no others.
func NewCache(config *rest.Config, options cache.Options, selector labels.Selector) (cache.Cache, error) {
	options.ByObject = maps.Clone(options.ByObject)
	if options.ByObject == nil {
		options.ByObject = map[client.Object]cache.ByObject{}
	}
	options.ByObject[NewTree()] = cache.ByObject{Label: selector, Transform: compact(options.DefaultTransform)}
	inner, err := cache.New(config, options)
	if err != nil {
		return nil, err
	}
	return &wrapper{Cache: inner}, nil
}

// UnreadableError says that a resource cannot be read as what it is. Its metadata and, if possible, its status can.
type UnreadableError struct{ Err error }

func (e *UnreadableError) Error() string { return "the resource cannot be read: " + e.Err.Error() }

func (e *UnreadableError) Unwrap() error { return e.Err }

type wrapper struct{ cache.Cache }

// Get returns an *UnreadableError together with what could be read.
func (c *wrapper) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	cr, ok := into.(*v1alpha2.LlamaStackDistribution)
	if !ok {
		return c.Cache.Get(ctx, key, into, options...)
	}
	u := NewTree() // the cache's own: decode only reads it
	if err := c.Cache.Get(ctx, key, u, append(slices.Clip(options), client.UnsafeDisableDeepCopy)...); err != nil {
		return err
	}
	return decode(u, cr)
}

// List leaves out of its items what cannot be read of them. The items of a list of metadata have only their names: nothing is decoded for it.
func (c *wrapper) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	switch list := into.(type) {
	case *v1alpha2.LlamaStackDistributionList:
		return c.list(ctx, options, func(trees []unstructured.Unstructured) {
			list.Items = make([]v1alpha2.LlamaStackDistribution, len(trees))
			for i := range trees {
				_ = decode(&trees[i], &list.Items[i])
			}
		})
	case *metav1.PartialObjectMetadataList:
		if list.GroupVersionKind() != listKind {
			break
		}
		return c.list(ctx, options, func(trees []unstructured.Unstructured) {
			list.Items = make([]metav1.PartialObjectMetadata, len(trees))
			for i := range trees {
				list.Items[i].Namespace, list.Items[i].Name = trees[i].GetNamespace(), trees[i].GetName()
			}
		})
	}
	return c.Cache.List(ctx, into, options...)
}

// list reads the cache's own trees, which must not be changed.
func (c *wrapper) list(ctx context.Context, options []client.ListOption, take func([]unstructured.Unstructured)) error {
	trees := &unstructured.UnstructuredList{}
	trees.SetGroupVersionKind(listKind)
	if err := c.Cache.List(ctx, trees, append(slices.Clip(options), client.UnsafeDisableDeepCopy)...); err != nil {
		return err
	}
	take(trees.Items)
	return nil
}

var listKind = v1alpha2.GroupVersion.WithKind(v1alpha2.Kind + "List")

// NewNames returns an empty list that a cache of this package fills with the names of LlamaStackDistributions.
func NewNames() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(listKind)
	return list
}

// GetInformer returns an informer whose handlers get trees.
func (c *wrapper) GetInformer(ctx context.Context, o client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	return c.Cache.GetInformer(ctx, asTree(o), options...)
}

// RemoveInformer removes what GetInformer started.
func (c *wrapper) RemoveInformer(ctx context.Context, o client.Object) error {
	return c.Cache.RemoveInformer(ctx, asTree(o))
}

// IndexField indexes by what can be read.
func (c *wrapper) IndexField(ctx context.Context, o client.Object, field string, extract client.IndexerFunc) error {
	if _, ok := o.(*v1alpha2.LlamaStackDistribution); !ok {
		return c.Cache.IndexField(ctx, o, field, extract)
	}
	return c.Cache.IndexField(ctx, NewTree(), field, remembered(func(o client.Object) []string { return values(o, extract) }))
}

// values are those of a custom resource in an index: none where reading them panics.
func values(o client.Object, extract client.IndexerFunc) []string {
	defer panics.CatchRead(logf.Log, o, "indexing a custom resource panicked")
	cr := &v1alpha2.LlamaStackDistribution{}
	if u, ok := o.(*unstructured.Unstructured); ok {
		_ = decode(u, cr) // a reconcile reports it
	}
	return extract(cr)
}

// maxRemembered is how many resources' values of an index are remembered.
const maxRemembered = 1000

// remembered calls the function once for each spec of a resource. One goroutine of the informer indexes all resources, each twice for every
// event, and most events only change the status: large resources would hold up the events of all others.
func remembered(extract client.IndexerFunc) client.IndexerFunc {
	type result struct {
		generation int64
		annotation string
		values     []string
	}
	results := lru.New(maxRemembered)
	return func(o client.Object) []string {
		generation, annotation := o.GetGeneration(), o.GetAnnotations()[v1alpha2.ConversionAnnotation]
		if found, ok := results.Get(o.GetUID()); ok {
			if last, ok := found.(result); ok && last.generation == generation && last.annotation == annotation {
				return last.values
			}
		}
		values := extract(o)
		results.Add(o.GetUID(), result{generation, annotation, values})
		return values
	}
}

// NewTree returns an empty LlamaStackDistribution as a tree.
func NewTree() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v1alpha2.GroupVersion.WithKind(v1alpha2.Kind))
	return u
}

func asTree(o client.Object) client.Object {
	if _, ok := o.(*v1alpha2.LlamaStackDistribution); ok {
		return NewTree()
	}
	return o
}

// decode reads a tree into a resource. Where that fails the resource has the metadata, and the status if that can be read,
// and the error is an *UnreadableError.
func decode(u *unstructured.Unstructured, into *v1alpha2.LlamaStackDistribution) error {
	failed := decodeFields(u, into, "spec", "status")
	if failed == nil {
		return nil
	}
	for _, fields := range [][]string{{"status"}, nil} {
		if decodeFields(u, into, fields...) == nil {
			break
		}
	}
	return &UnreadableError{Err: failed}
}

func decodeFields(u *unstructured.Unstructured, into *v1alpha2.LlamaStackDistribution, fields ...string) error {
	head, err := json.Marshal(map[string]any{"apiVersion": u.GetAPIVersion(), "kind": u.GetKind(), "metadata": u.Object["metadata"]})
	if err != nil {
		return fmt.Errorf("encode it: %w", err)
	}
	text := bytes.NewBuffer(head[:len(head)-1])
	for _, f := range fields {
		value, ok, err := fieldText(u, f)
		if err != nil {
			return fmt.Errorf("encode it: %w", err)
		}
		if ok {
			text.WriteString(`,"` + f + `":` + value)
		}
	}
	text.WriteByte('}')
	*into = v1alpha2.LlamaStackDistribution{}
	return kjson.UnmarshalCaseSensitivePreserveInts(text.Bytes(), into) // as a client of the API reads it
}

// texts is where a compact tree has the JSON texts of its fields, packed. No object of the API has such a field.
const texts = "texts"

// compact replaces the trees of spec and status by their texts, after what the cache does with every object. Of the spec stays how the
// resource is exposed: that is read at each event, before anybody asks for the resource.
func compact(first toolscache.TransformFunc) toolscache.TransformFunc {
	return func(in any) (any, error) {
		if first != nil {
			var err error
			if in, err = first(in); err != nil {
				return in, err
			}
		}
		u, ok := in.(*unstructured.Unstructured)
		if !ok || u.Object[texts] != nil {
			return in, nil
		}
		small := map[string]any{"apiVersion": u.Object["apiVersion"], "kind": u.Object["kind"], "metadata": u.Object["metadata"]}
		kept := map[string]any{}
		for _, f := range []string{"spec", "status"} {
			switch text, ok, err := fieldText(u, f); {
			case err != nil: // who asks for the resource learns that
				return u, nil //nolint:nilerr // an error would keep the event from the cache
			case ok:
				kept[f] = packed.Pack([]byte(text))
			}
		}
		small[texts] = kept
		if expose, ok, err := unstructured.NestedFieldNoCopy(u.Object, "spec", "networking", "expose"); ok && err == nil {
			small["spec"] = map[string]any{"networking": map[string]any{"expose": expose}}
		}
		u.Object = small
		return u, nil
	}
}

// fieldText is the JSON text of a field of a tree, compact or not.
func fieldText(u *unstructured.Unstructured, name string) (text string, found bool, _ error) {
	if kept, ok := u.Object[texts].(map[string]any); ok {
		if text, found = kept[name].(string); !found {
			return "", false, nil
		}
		all, err := packed.Unpack(text)
		return string(all), true, err
	}
	value, found := u.Object[name]
	if !found {
		return "", false, nil
	}
	raw, err := json.Marshal(value)
	return string(raw), true, err
}
