// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DistributionPhase sums up the state of a LlamaStackDistribution in one word.
// +kubebuilder:validation:Enum=Pending;Initializing;Ready;Failed;Terminating
type DistributionPhase string

// The phases.
const (
	// PhasePending: nothing runs yet and nothing is wrong.
	PhasePending DistributionPhase = "Pending"
	// PhaseInitializing: the Deployment is making progress.
	PhaseInitializing DistributionPhase = "Initializing"
	// PhaseReady: the server is available. A failing edit does not leave this phase while the server serves on.
	PhaseReady DistributionPhase = "Ready"
	// PhaseFailed: something is wrong and nothing serves.
	PhaseFailed DistributionPhase = "Failed"
	// PhaseTerminating: the resource is being deleted.
	PhaseTerminating DistributionPhase = "Terminating"
)

// LlamaStackDistributionStatus is the observed state of a LlamaStackDistribution.
type LlamaStackDistributionStatus struct {
	// Phase sums up the state in one word.
	// +optional
	Phase DistributionPhase `json:"phase,omitempty"`

	// ObservedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are the latest observations.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ResolvedDistribution reports which image runs and where its base configuration comes from.
	// +optional
	ResolvedDistribution *ResolvedDistributionStatus `json:"resolvedDistribution,omitempty"`

	// ConfigGeneration reports which configuration was generated.
	// +optional
	ConfigGeneration *ConfigGenerationStatus `json:"configGeneration,omitempty"`

	// Version has the versions of the operator and of the server.
	// +optional
	Version *VersionInfo `json:"version,omitempty"`

	// DistributionConfig reports what the running server says about itself.
	// +optional
	DistributionConfig *DistributionConfig `json:"distributionConfig,omitempty"`

	// Replicas is the number of pods.
	// +optional
	Replicas int32 `json:"replicas"`

	// AvailableReplicas is the number of available pods.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`

	// Selector is the label selector of the pods, as text, for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`

	// ServiceURL is the URL of the server inside the cluster.
	// +optional
	ServiceURL string `json:"serviceURL,omitempty"`

	// RouteURL is the URL of the server outside the cluster: absent when it is not exposed, empty while the URL is
	// not known yet.
	// +optional
	RouteURL *string `json:"routeURL,omitempty"`
}

// ConfigSource reports where a configuration comes from.
// +kubebuilder:validation:Enum=registered;embedded;oci-label;override;image
type ConfigSource string

// The sources of a configuration.
const (
	// ConfigSourceRegistered: the operator's settings register a base configuration for the name or image.
	ConfigSourceRegistered ConfigSource = "registered"
	// ConfigSourceEmbedded: the base configuration is part of the operator.
	ConfigSourceEmbedded ConfigSource = "embedded"
	// ConfigSourceOCILabel: the base configuration stands in the labels of the image.
	ConfigSourceOCILabel ConfigSource = "oci-label"
	// ConfigSourceOverride: the user gives the whole configuration.
	ConfigSourceOverride ConfigSource = "override"
	// ConfigSourceImage: nothing was generated, the image runs its own default configuration.
	ConfigSourceImage ConfigSource = "image"
)

// ResolvedDistributionStatus reports which image runs and where its base configuration comes from.
type ResolvedDistributionStatus struct {
	// Name is the name of the distribution. It is absent for an image that no known distribution uses.
	// +optional
	Name string `json:"name,omitempty"`

	// NameSource reports what the name was derived from.
	// +optional
	NameSource string `json:"nameSource,omitempty"`

	// Image is the resolved container image reference.
	// +optional
	Image string `json:"image,omitempty"`

	// ImageSource reports where the image comes from.
	// +optional
	ImageSource string `json:"imageSource,omitempty"`

	// ImageDigest is the digest of the image that the pods run, such as "sha256:…".
	// +optional
	ImageDigest string `json:"imageDigest,omitempty"`

	// ImageDigestSource reports who says so: the node of a pod, or the registry.
	// +optional
	ImageDigestSource string `json:"imageDigestSource,omitempty"`

	// ConfigSource is the origin of the base configuration.
	// +optional
	ConfigSource ConfigSource `json:"configSource,omitempty"`

	// ConfigHash is the SHA-256 hash of the base configuration.
	// +optional
	ConfigHash string `json:"configHash,omitempty"`

	// ServerLine is the release line of the server, such as "0.7", that the configuration was made for.
	// +optional
	ServerLine string `json:"serverLine,omitempty"`

	// ServerLineSource reports what the release line was derived from.
	// +optional
	ServerLineSource string `json:"serverLineSource,omitempty"`

	// NewerServerLine is the newest release line that the distribution has, if the running server keeps an older one. Set
	// spec.distribution.version to move the server.
	// +optional
	NewerServerLine string `json:"newerServerLine,omitempty"`
}

// ConfigGenerationStatus reports which configuration was generated.
type ConfigGenerationStatus struct {
	// ConfigMapName is the name of the generated ConfigMap.
	// +optional
	ConfigMapName string `json:"configMapName,omitempty"`

	// GeneratedAt is when this configuration was first generated.
	// +optional
	GeneratedAt *metav1.Time `json:"generatedAt,omitempty"`

	// ProviderCount is the number of providers that the spec configures.
	// +optional
	ProviderCount int32 `json:"providerCount"`

	// ResourceCount is the number of models, tools, shields and vector stores that the spec registers.
	// +optional
	ResourceCount int32 `json:"resourceCount"`

	// ConfigVersion is the schema version of config.yaml.
	// +optional
	ConfigVersion int32 `json:"configVersion,omitempty"`
}

// VersionInfo has versions.
type VersionInfo struct {
	// OperatorVersion is the version of the operator that wrote the status.
	// +optional
	OperatorVersion string `json:"operatorVersion,omitempty"`

	// LlamaStackServerVersion is the version that the running server reports.
	// +optional
	LlamaStackServerVersion string `json:"llamaStackServerVersion,omitempty"`

	// LastUpdated is when one of the versions last changed.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`
}

// DistributionConfig reports what the running server says about itself.
type DistributionConfig struct {
	// ActiveDistribution is the distribution in use: its name, or the image.
	// +optional
	ActiveDistribution string `json:"activeDistribution,omitempty"`

	// Providers are the providers that the running server lists.
	// +optional
	// +listType=atomic
	Providers []ProviderInfo `json:"providers,omitempty"`

	// Models are the models that the running server listed when it was asked last, after a rollout or a change of its
	// pods, those of the providers of the spec first. Where they are too many for the status, the last entry says how many
	// are left out. A server that lists them to authenticated callers only leaves them as they were.
	// +optional
	// +listType=atomic
	Models []ModelInfo `json:"models,omitempty"`

	// VectorStores are those of the spec that the running server lists. Those that clients create are not shown.
	// +optional
	// +listType=atomic
	VectorStores []ResourceInfo `json:"vectorStores,omitempty"`

	// ToolGroups are the tool groups that the running server lists. Servers from release line 0.7 on list none.
	// +optional
	// +listType=atomic
	ToolGroups []ResourceInfo `json:"toolGroups,omitempty"`

	// Connectors are the MCP servers that the running server lists. Servers of the release lines 0.7, 0.8, and from 1.3 on
	// list them.
	// +optional
	// +listType=atomic
	Connectors []ResourceInfo `json:"connectors,omitempty"`

	// MissingResources are the models, vector stores and tools of the spec that the running server does not list, such as
	// "models/vllm/llama3" or "vectorStores/docs". What a server lists to authenticated callers only cannot be missing.
	// +optional
	// +listType=atomic
	MissingResources []string `json:"missingResources,omitempty"`

	// AvailableDistributions are the distributions that the operator knows and their images.
	// +optional
	AvailableDistributions map[string]string `json:"availableDistributions,omitempty"`
}

// ModelInfo is one model of the running server.
type ModelInfo struct {
	// Name is the name that clients call the model by.
	// +optional
	Name string `json:"name"`

	// ProviderID is the id of the provider that serves the model.
	// +optional
	ProviderID string `json:"provider_id"` //nolint:tagliatelle // the server's own name, as for providers
}

// ResourceInfo is one vector store, tool group or connector of the running server.
type ResourceInfo struct {
	// Name is its name in the list of the server. A list that is too long for the status ends with an entry that says how
	// many are left out.
	// +optional
	Name string `json:"name"`

	// ProviderID is the id of the provider that serves it, where the list says so.
	// +optional
	ProviderID string `json:"provider_id,omitempty"` //nolint:tagliatelle // the server's own name, as for providers
}

// ProviderInfo is one provider of the running server.
type ProviderInfo struct {
	// API is the API that the provider serves.
	// +optional
	API string `json:"api"`

	// ProviderID is the id of the provider.
	// +optional
	ProviderID string `json:"provider_id"` //nolint:tagliatelle // the server's own name, as v1alpha1 has it

	// ProviderType is the type of the provider, such as "remote::vllm".
	// +optional
	ProviderType string `json:"provider_type"` //nolint:tagliatelle // the server's own name, as v1alpha1 has it

	// Config is the configuration that the operator generated for the provider, with placeholders for secrets. Where it is
	// left out because it is too long for the status, a string says so.
	// +optional
	Config *apiextensionsv1.JSON `json:"config,omitempty"`

	// Health is not set: no release line of the server reports the health of its providers.
	// +optional
	Health *ProviderHealthStatus `json:"health,omitempty"`
}

// ProviderHealthStatus is the health of a provider.
type ProviderHealthStatus struct {
	// Status is the state in one word.
	// +optional
	Status string `json:"status"`

	// Message explains the state.
	// +optional
	Message string `json:"message,omitempty"`
}
