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
