// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// Provider is a parsed entry of spec.providers.
type Provider struct {
	// ID is the explicit provider_id, if given.
	ID string
	// Type is the provider type as written: "vllm" or "remote::vllm".
	Type string
	// Endpoint is the URL or address of the provider's backend, if given.
	Endpoint string
	// EndpointFrom refers to an object with the endpoint's address; nil if not given.
	EndpointFrom *EndpointReference
	// APIKey refers to the backend's API key; nil if not given.
	APIKey *SecretReference
	// Settings are merged into the provider's config.
	Settings map[string]any
	// SettingsField is the name as written: "settings" or its alias "config".
	SettingsField  string
	Region         string
	DeploymentName string
	// TLS has the certificates for the connection to the backend; nil if not given.
	TLS *ProviderTLS
	// SecretRefs are config fields with values from Secrets, sorted by field name.
	SecretRefs []SecretField
	// Path is the path of the entry for messages: "spec.providers.inference[1]".
	Path string
}

// SecretField is a config field with a value from a Secret.
type SecretField struct {
	// Field is the name of the config field as written.
	Field string
	Ref   SecretReference
	// Direct means that the field is in the entry itself, not under secretRefs.
	Direct bool
	// Path is the path of the reference for messages.
	Path string
}

// SecretReference is a parsed secret reference.
type SecretReference struct {
	// Name is the name of the Secret in the custom resource's namespace.
	Name string
	Key  string
}

// Model is a parsed item of spec.resources.models.
type Model struct {
	// Name is the model_id in the server's configuration.
	Name string
	// Provider is the id of the inference provider, or empty for the default.
	Provider string
	// ModelType is llm, embedding or rerank; empty means llm.
	ModelType v1alpha2.ModelType
	// ContextLength is the context window in tokens, if given.
	ContextLength *int64
	Quantization  string
	// EmbeddingDimension is the vector length of an embedding model.
	EmbeddingDimension *int64
	// ProviderModelID is the backend's name of the model if it differs from Name.
	ProviderModelID string
	Metadata        map[string]any
	Path            string
}

// Tool is a parsed item of spec.resources.tools.
type Tool struct {
	// Name is the tool group: "websearch", "rag", "mcp::<id>", ...
	Name string
	// Provider is the id of the toolRuntime provider, or empty for the default.
	Provider     string
	Endpoint     string
	EndpointFrom *EndpointReference
	Path         string
}

// Shield is a parsed item of spec.resources.shields.
type Shield struct {
	// ID is the shield_id in the server's configuration.
	ID string
	// Provider is the id of the safety provider, or empty for the default.
	Provider string
	// Model is the registered model of the shield, if given.
	Model string
	Path  string
}

// VectorStore is a parsed item of spec.resources.vectorStores.
type VectorStore struct {
	// Name is the vector_store_id in the server's configuration.
	Name string
	// Provider is the id of the vectorIo provider, or empty for the default.
	Provider string
	// EmbeddingModel is the registered model that embeds the texts.
	EmbeddingModel string
	// EmbeddingDimension is the vector length; nil for that of the model.
	EmbeddingDimension *int64
	// ProviderVectorStoreID is the provider's name of the vector store if it differs from Name.
	ProviderVectorStoreID string
	Path                  string
}

// Defaults are the parsed spec.resources.defaults; empty values are absent.
type Defaults struct {
	Model, EmbeddingModel, Shield string
	// EmbeddingDimension is the vector length of EmbeddingModel; nil for that of the registered model.
	EmbeddingDimension *int64
}

// PathDefaults is the path of Defaults for messages.
const PathDefaults = "spec.resources.defaults"

// Auth is the parsed spec.auth.
type Auth struct {
	// Type is the type of authentication as written, if given.
	Type     string
	Settings map[string]any
	// SecretRefs are fields with values from Secrets, sorted. A dot leads into a map or names a list item.
	SecretRefs                []SecretField
	AccessPolicy, RoutePolicy []Rule
	Tenancy                   map[string]any
}

// Rule is a rule of a policy.
type Rule struct {
	// Fields are its fields in the server's format.
	Fields map[string]any
	// Path is the path of the rule for messages: "spec.auth.accessPolicy[0]".
	Path string
}

// Expose is the parsed spec.networking.expose.
type Expose struct {
	Enabled bool
	// Hostname is the external host name, or empty for a generated one.
	Hostname string
	// ClassName and Annotations are those of the object; empty means those of the operator's settings.
	ClassName   string
	Annotations map[string]string
	// TLSSecretName is the Secret with the certificate of the edge, or empty for that of the operator's settings.
	TLSSecretName string
	// Weight is the share of the requests for the host name, relative to those of others; nil without sharing.
	Weight *int32
}
