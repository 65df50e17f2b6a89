// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// ProvidersSpec configures providers by API. Each field is one provider object, or a list of provider objects with
// explicit ids. A provider has the fields id, provider, endpoint or endpointFrom, apiKey, settings, region,
// deploymentName and secretRefs; see the type Provider of package internal/serverconfig/parse.
type ProvidersSpec struct {
	// Inference configures inference providers (vllm, ollama, openai, ...).
	// +optional
	Inference *apiextensionsv1.JSON `json:"inference,omitempty"`

	// Safety configures safety providers (llama-guard, ...).
	// +optional
	Safety *apiextensionsv1.JSON `json:"safety,omitempty"`

	// VectorIo configures vector I/O providers (pgvector, chromadb, ...).
	// +optional
	VectorIo *apiextensionsv1.JSON `json:"vectorIo,omitempty"`

	// ToolRuntime configures tool runtime providers (tavily-search, model-context-protocol, ...).
	// +optional
	ToolRuntime *apiextensionsv1.JSON `json:"toolRuntime,omitempty"`

	// Telemetry configures the OpenTelemetry exporter of the server.
	// +optional
	Telemetry *apiextensionsv1.JSON `json:"telemetry,omitempty"`
}
