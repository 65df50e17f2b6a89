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

// UndecodableError reports that a custom resource cannot be decoded. The schema admits a few values that Go's types refuse, such as an
// exponent with a fraction in a quantity.
type UndecodableError struct{ Err error }

func (e *UndecodableError) Error() string {
	return "the custom resource cannot be decoded: " + e.Err.Error()
}

func (e *UndecodableError) Unwrap() error { return e.Err }

// NewTree returns an empty LlamaStackDistribution as the cache holds it, undecoded.
func NewTree() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v1alpha2.GroupVersion.WithKind(v1alpha2.Kind))
	return u
}

// NewTrees returns an empty list of what NewTree returns.
func NewTrees() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(v1alpha2.GroupVersion.WithKind(v1alpha2.Kind + "List"))
	return list
}

// Decode decodes a custom resource. With an *UndecodableError, the result has the metadata, and the status if that can be decoded.
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

// decodeFields decodes the metadata and some fields, as a client of the API does.
func decodeFields(u *unstructured.Unstructured, into *v1alpha2.LlamaStackDistribution, fields ...string) error {
	tree := map[string]any{"apiVersion": u.GetAPIVersion(), "kind": u.GetKind(), "metadata": u.Object["metadata"]}
	for _, f := range fields {
		if value, found := u.Object[f]; found {
			tree[f] = value
		}
	}
	text, err := json.Marshal(tree)
	if err != nil {
		return fmt.Errorf("encode it: %w", err)
	}
	*into = v1alpha2.LlamaStackDistribution{}
	return kjson.UnmarshalCaseSensitivePreserveInts(text, into)
}
