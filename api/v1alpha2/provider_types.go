// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// ProvidersSpec configures providers by API. Each field is one provider object, or a list of provider objects with
// explicit ids. A provider has the fields id, provider, endpoint, apiKey, settings, region, deploymentName and
// secretRefs; ParseProviders gives their meaning.
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

// ProviderConfig is one entry of spec.providers, parsed.
//
// +kubebuilder:object:generate=false
type ProviderConfig struct {
	// ID is the provider_id in the server's configuration; empty where the user wrote none.
	ID string
	// Provider is the provider type as the user wrote it: "vllm", or with its prefix, "remote::vllm".
	Provider string
	// Endpoint is the URL or address of the provider's backend; empty where the user wrote none.
	Endpoint string
	// APIKey refers to the key that the backend demands; nil where the user wrote none.
	APIKey *SecretReference
	// Settings are merged into the provider's config as they are. SettingsField tells how the user spelt it.
	Settings map[string]any
	// SettingsField is "settings" or "config", the quickstart's name for it.
	SettingsField string
	// Region is the cloud region, for provider types that have one.
	Region string
	// DeploymentName is the deployment, for provider types that have one.
	DeploymentName string
	// SecretRefs are further config fields whose values come from Secrets, by field name, sorted.
	SecretRefs []SecretField
	// Path is where the entry stands in the resource, for messages: "spec.providers.inference[1]".
	Path string
}

// SecretField is a config field of a provider whose value comes from a Secret.
//
// +kubebuilder:object:generate=false
type SecretField struct {
	// Field is the name of the config field, as the user wrote it.
	Field string
	// Ref is the Secret and the key.
	Ref SecretReference
	// Path is where the reference stands in the resource, for messages.
	Path string
}
