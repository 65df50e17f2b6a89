// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// Provider is one entry of spec.providers, parsed.
type Provider struct {
	// ID is the provider_id in the server's configuration; empty where the user wrote none.
	ID string
	// Type is the provider type as the user wrote it: "vllm", or with its prefix, "remote::vllm".
	Type string
	// Endpoint is the URL or address of the provider's backend; empty where the user wrote none.
	Endpoint string
	// EndpointFrom is the object whose address is the endpoint; nil where the user wrote none.
	EndpointFrom *EndpointReference
	// APIKey refers to the key that the backend demands; nil where the user wrote none.
	APIKey *SecretReference
	// Settings are merged into the provider's config as they are. SettingsField reports which of its two names the user
	// wrote.
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
type SecretField struct {
	// Field is the name of the config field, as the user wrote it.
	Field string
	// Ref is the Secret and the key.
	Ref SecretReference
	// Direct reports that the field stands in the entry itself, and not under secretRefs.
	Direct bool
	// Path is where the reference stands in the resource, for messages.
	Path string
}

// SecretReference is a secret reference in either form, resolved: the Secret's name and the key in it.
type SecretReference struct {
	// Name is the name of the Secret, in the namespace of the resource.
	Name string
	// Key is the key within the Secret.
	Key string
}

// Model is one item of spec.resources.models, parsed.
type Model struct {
	// Name is the model's name, the model_id in the server's configuration.
	Name string
	// Provider is the id of the inference provider that serves the model; empty for the default one.
	Provider string
	// ModelType is llm, embedding or rerank; empty means llm.
	ModelType v1alpha2.ModelType
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

// Tool is one item of spec.resources.tools, parsed.
type Tool struct {
	// Name is the tool group: "websearch", "rag", "mcp::<id>", ...
	Name string
	// Provider is the id of the toolRuntime provider that serves it; empty for the default one.
	Provider string
	// Endpoint is the URL of an MCP server; empty where the user wrote none.
	Endpoint string
	// EndpointFrom is the object whose address is the endpoint; nil where the user wrote none.
	EndpointFrom *EndpointReference
	// Path is where the item stands in the resource, for messages.
	Path string
}

// Shield is one item of spec.resources.shields, parsed.
type Shield struct {
	// ID is the shield_id in the server's configuration.
	ID string
	// Provider is the id of the safety provider; empty for the default one.
	Provider string
	// Model is the registered model that the shield asks; empty where the user wrote none.
	Model string
	// Path is where the item stands in the resource, for messages.
	Path string
}

// VectorStore is one item of spec.resources.vectorStores.
type VectorStore struct {
	// Name is the vector_store_id in the server's configuration.
	Name string
	// Provider is the id of the vectorIo provider; empty for the default one.
	Provider string
	// EmbeddingModel is the registered model that makes its vectors.
	EmbeddingModel string
	// EmbeddingDimension is the length of the vectors; nil for that of the model.
	EmbeddingDimension *int64
	// ProviderVectorStoreID is the provider's name of the vector store where it differs from Name.
	ProviderVectorStoreID string
	// Path is where the item stands in the resource, for messages.
	Path string
}

// Auth is spec.auth, parsed.
type Auth struct {
	// Type is the type of authentication as the user wrote it; empty where the user wrote none.
	Type string
	// Settings are the fields of the type.
	Settings map[string]any
	// SecretRefs are fields whose values come from Secrets, by field, sorted. A dot leads into a map, or names an item of
	// a list.
	SecretRefs []SecretField
	// AccessPolicy and RoutePolicy are the rules of the policies.
	AccessPolicy, RoutePolicy []Rule
	// Tenancy are the fields of the tenancy.
	Tenancy map[string]any
}

// Rule is one rule of a policy.
type Rule struct {
	// Fields are its fields, in the server's form.
	Fields map[string]any
	// Path is where the rule stands in the resource, for messages: "spec.auth.accessPolicy[0]".
	Path string
}

// Expose is spec.networking.expose, parsed.
type Expose struct {
	// Enabled reports whether the server is exposed.
	Enabled bool
	// Hostname is the external host name; empty for a generated one.
	Hostname string
}
