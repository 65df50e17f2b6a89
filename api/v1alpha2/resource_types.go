// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// ResourcesSpec declares resources to register with the server.
type ResourcesSpec struct {
	// Models to register. Each item is a string (the model's name) or an object with name, provider, modelType,
	// contextLength, quantization, embeddingDimension, providerModelId and metadata.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	Models []apiextensionsv1.JSON `json:"models,omitempty"`

	// Tools are tool groups to register. Each item is a string (such as "websearch" or "mcp::github") or an object
	// with name, provider, and endpoint or endpointFrom.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	Tools []apiextensionsv1.JSON `json:"tools,omitempty"`

	// Shields are safety shields to register. Each item is a string (the shield's id) or an object with id,
	// provider and model.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	Shields []apiextensionsv1.JSON `json:"shields,omitempty"`

	// VectorStores are vector stores to register: such that exist already, or that the server makes when it starts.
	// The release line of the server must register vector stores.
	// +optional
	// +kubebuilder:validation:MaxItems=200
	// +listType=map
	// +listMapKey=name
	VectorStores []VectorStore `json:"vectorStores,omitempty"`
}

// VectorStore is a vector store to register.
type VectorStore struct {
	// Name is the id of the vector store, by which clients ask for it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Provider is the id of the vectorIo provider that holds it. Absent: the first of spec.providers.vectorIo, otherwise
	// the default of the base configuration.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Provider *string `json:"provider,omitempty"`

	// EmbeddingModel is a registered model of type embedding, by the name under which it is served or by its own name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	EmbeddingModel string `json:"embeddingModel"`

	// EmbeddingDimension is the length of the vectors. Absent: that of the embedding model.
	// +optional
	// +kubebuilder:validation:Minimum=1
	EmbeddingDimension *int32 `json:"embeddingDimension,omitempty"`

	// ProviderVectorStoreID is the provider's name of the vector store, where it differs from name.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ProviderVectorStoreID *string `json:"providerVectorStoreId,omitempty"`
}

// ModelType is what a model does.
type ModelType string

// The model types that the server knows.
const (
	ModelTypeLLM       ModelType = "llm"
	ModelTypeEmbedding ModelType = "embedding"
	ModelTypeRerank    ModelType = "rerank"
)
