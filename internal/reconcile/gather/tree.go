// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kjson "sigs.k8s.io/json"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// UndecodableError means that Go's types refuse a custom resource that the schema admits, such as by a quantity.
type UndecodableError struct{ Err error }

func (e *UndecodableError) Error() string {
	return "the custom resource cannot be decoded: " + e.Err.Error()
}

func (e *UndecodableError) Unwrap() error { return e.Err }

// NewTree returns an empty undecoded LlamaStackDistribution, the form in the cache.
func NewTree() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v1alpha2.GroupVersion.WithKind(v1alpha2.Kind))
	return u
}

// Pack is the cache's transform: it replaces the spec by its JSON text, which takes a tenth of a tree's memory.
func Pack(in any) (any, error) {
	u, ok := in.(*unstructured.Unstructured)
	if !ok {
		return in, nil
	}
	text, err := specText(u)
	if err != nil || text == nil {
		return in, nil //nolint:nilerr // its reconcile reports the error
	}
	u.Object["spec"] = string(text)
	return u, nil
}

// specText returns the JSON text of a spec, packed or not, or nil without a spec.
func specText(u *unstructured.Unstructured) ([]byte, error) {
	spec, found := u.Object["spec"]
	if !found {
		return nil, nil
	}
	if text, packed := spec.(string); packed {
		return []byte(text), nil
	}
	return json.Marshal(spec)
}

// NewTrees returns an empty list of undecoded LlamaStackDistributions.
func NewTrees() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(v1alpha2.GroupVersion.WithKind(v1alpha2.Kind + "List"))
	return list
}

// Decode decodes a custom resource. With an *UndecodableError, the result has metadata and, if possible, status.
func Decode(from client.Object, into *v1alpha2.LlamaStackDistribution) error {
	if cr, typed := from.(*v1alpha2.LlamaStackDistribution); typed {
		cr.DeepCopyInto(into)
		return nil
	}
	u, ok := from.(*unstructured.Unstructured)
	if !ok {
		return &UndecodableError{fmt.Errorf("it is a %T", from)}
	}
	failed := decodeFields(u, into, "spec", "status")
	if failed == nil {
		return nil
	}
	if decodeFields(u, into, "status") != nil {
		_ = decodeFields(u, into)
	}
	return &UndecodableError{failed}
}

func decodeFields(u *unstructured.Unstructured, into *v1alpha2.LlamaStackDistribution, fields ...string) error {
	tree := map[string]any{"apiVersion": u.GetAPIVersion(), "kind": u.GetKind(), "metadata": u.Object["metadata"]}
	for _, f := range fields {
		if value, found := u.Object[f]; found {
			tree[f] = value
		}
	}
	if _, found := tree["spec"]; found {
		spec, err := specText(u)
		if err != nil {
			return fmt.Errorf("encode its spec: %w", err)
		}
		tree["spec"] = json.RawMessage(spec)
	}
	text, err := json.Marshal(tree)
	if err != nil {
		return fmt.Errorf("encode it: %w", err)
	}
	*into = v1alpha2.LlamaStackDistribution{}
	return kjson.UnmarshalCaseSensitivePreserveInts(text, into)
}
