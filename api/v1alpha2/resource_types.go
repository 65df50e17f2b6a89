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
	// with name, provider and endpoint.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	Tools []apiextensionsv1.JSON `json:"tools,omitempty"`

	// Shields are safety shields to register. Each item is a string (the shield's id) or an object with id,
	// provider and model.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	Shields []apiextensionsv1.JSON `json:"shields,omitempty"`
}

// ModelType is what a model does.
type ModelType string

// The model types that the server knows.
const (
	ModelTypeLLM       ModelType = "llm"
	ModelTypeEmbedding ModelType = "embedding"
	ModelTypeRerank    ModelType = "rerank"
)

// ModelConfig is one item of spec.resources.models, parsed.
//
// +kubebuilder:object:generate=false
type ModelConfig struct {
	// Name is the model's name, the model_id in the server's configuration.
	Name string
	// Provider is the id of the inference provider that serves the model; empty for the default one.
	Provider string
	// ModelType is llm, embedding or rerank; empty means llm.
	ModelType ModelType
	// ContextLength is the context window in tokens; nil where the user wrote none.
	ContextLength *int64
	// Quantization names the quantization of the weights; empty where the user wrote none.
	Quantization string
	// EmbeddingDimension is the length of the vectors that an embedding model returns.
	EmbeddingDimension *int64
	// ProviderModelID is the backend's name of the model where it differs from Name.
	ProviderModelID string
	// Metadata is free: it becomes the entry's metadata.
	Metadata map[string]any
	// Path is where the item stands in the resource, for messages: "spec.resources.models[0]".
	Path string
}

// ToolConfig is one item of spec.resources.tools, parsed.
//
// +kubebuilder:object:generate=false
type ToolConfig struct {
	// Name is the tool group: "websearch", "rag", "mcp::<id>", ...
	Name string
	// Provider is the id of the toolRuntime provider that serves it; empty for the default one.
	Provider string
	// Endpoint is the URL of an MCP server; empty where the user wrote none.
	Endpoint string
	// Path is where the item stands in the resource, for messages.
	Path string
}

// ShieldConfig is one item of spec.resources.shields, parsed.
//
// +kubebuilder:object:generate=false
type ShieldConfig struct {
	// ID is the shield_id in the server's configuration.
	ID string
	// Provider is the id of the safety provider; empty for the default one.
	Provider string
	// Model is the registered model that the shield asks; empty where the user wrote none.
	Model string
	// Path is where the item stands in the resource, for messages.
	Path string
}
