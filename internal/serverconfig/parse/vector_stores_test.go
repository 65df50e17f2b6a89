// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// Proves: R84.
func TestReadVectorStoresRejectsWhatTheSchemaRejects(t *testing.T) {
	stores, problems := parseVectorStores([]v1alpha2.VectorStore{
		{Name: "a", Provider: new("faiss"), EmbeddingModel: "m", EmbeddingDimension: new(int32(768)), ProviderVectorStoreID: new("b")},
		{EmbeddingDimension: new(int32(0))},
		{Name: "a", EmbeddingModel: "m"},
		{Name: "c", EmbeddingModel: "m", EmbeddingDimension: new(int32(1))},
	})
	expectProblems(t, problems,
		"spec.resources.vectorStores[1].embeddingDimension: Invalid value",
		"spec.resources.vectorStores[1].name: Required value",
		"spec.resources.vectorStores[1].embeddingModel: Required value",
		"spec.resources.vectorStores[2].name: Duplicate value",
	)
	want := []VectorStore{
		{Name: "a", Provider: "faiss", EmbeddingModel: "m", EmbeddingDimension: new(int64(768)), ProviderVectorStoreID: "b", Path: "spec.resources.vectorStores[0]"},
		{EmbeddingDimension: new(int64(0)), Path: "spec.resources.vectorStores[1]"},
		{Name: "c", EmbeddingModel: "m", EmbeddingDimension: new(int64(1)), Path: "spec.resources.vectorStores[3]"},
	}
	if diff := cmp.Diff(want, stores); diff != "" {
		t.Error(diff)
	}
}
