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

	// VectorStores are vector stores to register. The server creates missing ones at startup.
	// The release line of the server must support registered vector stores.
	// +optional
	// +kubebuilder:validation:MaxItems=200
	// +listType=map
	// +listMapKey=name
	VectorStores []VectorStore `json:"vectorStores,omitempty"`

	// Defaults are used for requests that name no model or shield.
	// The release line of the server must have such a default.
	// +optional
	Defaults *ResourceDefaults `json:"defaults,omitempty"`
}

// ResourceDefaults are the resources for requests that name none.
//
// +kubebuilder:validation:XValidation:rule="!has(self.embeddingDimension) || has(self.embeddingModel)",message="embeddingDimension belongs to embeddingModel: set both, or remove it"
type ResourceDefaults struct {
	// Model is the served name or the own name of a registered model. The server asks it to rewrite queries of vector
	// stores, and to describe the context of their chunks.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Model *string `json:"model,omitempty"`

	// EmbeddingModel is the model that makes the vectors of vector stores. A model that is not registered is registered
	// with embeddingDimension; <provider id>/<name> names its provider.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	EmbeddingModel *string `json:"embeddingModel,omitempty"`

	// EmbeddingDimension is the length of the vectors of embeddingModel.
	// +optional
	// +kubebuilder:validation:Minimum=1
	EmbeddingDimension *int32 `json:"embeddingDimension,omitempty"`

	// Shield is the id of the registered shield for moderation requests.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Shield *string `json:"shield,omitempty"`
}

// VectorStore is a vector store to register.
type VectorStore struct {
	// Name is the id of the vector store in client requests.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Provider is the id of its vectorIo provider. The default is the first of spec.providers.vectorIo, otherwise the
	// default of the base configuration.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Provider *string `json:"provider,omitempty"`

	// EmbeddingModel is the served name or the own name of a registered model of type embedding.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	EmbeddingModel string `json:"embeddingModel"`

	// EmbeddingDimension is the length of the vectors. The default is that of the embedding model.
	// +optional
	// +kubebuilder:validation:Minimum=1
	EmbeddingDimension *int32 `json:"embeddingDimension,omitempty"`

	// ProviderVectorStoreID is the provider's name of the vector store, if it differs from name.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ProviderVectorStoreID *string `json:"providerVectorStoreId,omitempty"`
}

// ModelType is the type of a model.
type ModelType string

// The model types of the server.
const (
	ModelTypeLLM       ModelType = "llm"
	ModelTypeEmbedding ModelType = "embedding"
	ModelTypeRerank    ModelType = "rerank"
)
