// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DistributionPhase summarizes the state of a LlamaStackDistribution in one word.
// +kubebuilder:validation:Enum=Pending;Initializing;Ready;Failed;Terminating
type DistributionPhase string

// The phases.
const (
	// PhasePending means that nothing runs yet, without errors.
	PhasePending DistributionPhase = "Pending"
	// PhaseInitializing means that the Deployment is making progress.
	PhaseInitializing DistributionPhase = "Initializing"
	// PhaseReady means that the server is available. A rejected edit does not change the phase of an available server.
	PhaseReady DistributionPhase = "Ready"
	// PhaseFailed means that there are errors and the server is not available.
	PhaseFailed DistributionPhase = "Failed"
	// PhaseTerminating means that the resource is being deleted.
	PhaseTerminating DistributionPhase = "Terminating"
)

// LlamaStackDistributionStatus is the observed state of a LlamaStackDistribution.
type LlamaStackDistributionStatus struct {
	// Phase summarizes the state in one word.
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

	// ResolvedDistribution reports the image and the source of its base configuration.
	// +optional
	ResolvedDistribution *ResolvedDistributionStatus `json:"resolvedDistribution,omitempty"`

	// ConfigGeneration reports the generated configuration.
	// +optional
	ConfigGeneration *ConfigGenerationStatus `json:"configGeneration,omitempty"`

	// Version reports the versions of the operator and the server.
	// +optional
	Version *VersionInfo `json:"version,omitempty"`

	// DistributionConfig reports the configuration of the running server.
	// +optional
	DistributionConfig *DistributionConfig `json:"distributionConfig,omitempty"`

	// Replicas is the number of pods.
	// +optional
	Replicas int32 `json:"replicas"`

	// AvailableReplicas is the number of available pods.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`

	// Selector is the label selector of the pods as a string, for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`

	// ServiceURL is the URL of the server inside the cluster.
	// +optional
	ServiceURL string `json:"serviceURL,omitempty"`

	// RouteURL is the external URL of the server. It is absent if the server is not exposed, and empty while the URL is
	// unknown.
	// +optional
	RouteURL *string `json:"routeURL,omitempty"`
}

// ConfigSource is the source of a configuration.
// +kubebuilder:validation:Enum=registered;embedded;oci-label;override;image
type ConfigSource string

// The sources of a configuration.
const (
	// ConfigSourceRegistered is a base configuration in the operator's settings, for the name or image.
	ConfigSourceRegistered ConfigSource = "registered"
	// ConfigSourceEmbedded is a base configuration of the operator itself.
	ConfigSourceEmbedded ConfigSource = "embedded"
	// ConfigSourceOCILabel is a base configuration in the labels of the image.
	ConfigSourceOCILabel ConfigSource = "oci-label"
	// ConfigSourceOverride is a complete configuration of the user.
	ConfigSourceOverride ConfigSource = "override"
	// ConfigSourceImage is the default configuration of the image, which runs unchanged.
	ConfigSourceImage ConfigSource = "image"
)

// ResolvedDistributionStatus reports the image and the source of its base configuration.
type ResolvedDistributionStatus struct {
	// Name is the name of the distribution. It is absent for an image of no known distribution.
	// +optional
	Name string `json:"name,omitempty"`

	// NameSource is the source of the name.
	// +optional
	NameSource string `json:"nameSource,omitempty"`

	// Image is the resolved container image reference.
	// +optional
	Image string `json:"image,omitempty"`

	// ImageSource is the source of the image.
	// +optional
	ImageSource string `json:"imageSource,omitempty"`

	// ImageDigest is the digest of the image that the pods run, such as "sha256:…".
	// +optional
	ImageDigest string `json:"imageDigest,omitempty"`

	// ImageDigestSource is the source of the digest: the node of a pod, or the registry.
	// +optional
	ImageDigestSource string `json:"imageDigestSource,omitempty"`

	// ConfigSource is the source of the base configuration.
	// +optional
	ConfigSource ConfigSource `json:"configSource,omitempty"`

	// ConfigHash is the SHA-256 hash of the base configuration.
	// +optional
	ConfigHash string `json:"configHash,omitempty"`

	// ServerLine is the release line of the server, such as "0.7", for which the configuration is generated.
	// +optional
	ServerLine string `json:"serverLine,omitempty"`

	// ServerLineSource is the source of the release line.
	// +optional
	ServerLineSource string `json:"serverLineSource,omitempty"`

	// NewerServerLine is the newest release line of the distribution, if the running server keeps an older one. Set
	// spec.distribution.version to upgrade the server.
	// +optional
	NewerServerLine string `json:"newerServerLine,omitempty"`
}

// ConfigGenerationStatus reports the generated configuration.
type ConfigGenerationStatus struct {
	// ConfigMapName is the name of the generated ConfigMap.
	// +optional
	ConfigMapName string `json:"configMapName,omitempty"`

	// GeneratedAt is the time when this configuration was first generated.
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

// VersionInfo reports the versions of the operator and the server.
type VersionInfo struct {
	// OperatorVersion is the version of the operator that wrote the status.
	// +optional
	OperatorVersion string `json:"operatorVersion,omitempty"`

	// LlamaStackServerVersion is the version that the running server reports.
	// +optional
	LlamaStackServerVersion string `json:"llamaStackServerVersion,omitempty"`

	// LastUpdated is the time of the last change of a version.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`
}

// DistributionConfig reports the configuration of the running server.
type DistributionConfig struct {
	// ActiveDistribution is the distribution in use: its name, or the image.
	// +optional
	ActiveDistribution string `json:"activeDistribution,omitempty"`

	// Providers are the providers that the running server lists.
	// +optional
	// +listType=atomic
	Providers []ProviderInfo `json:"providers,omitempty"`

	// Models are the models that the server listed after the last rollout or change of its pods, those of providers in the
	// spec first. If the list is too long for the status, the last entry counts the omitted ones. If the server lists
	// models only to authenticated callers, the field is not updated.
	// +optional
	// +listType=atomic
	Models []ModelInfo `json:"models,omitempty"`

	// VectorStores are the vector stores of the spec that the server lists. Vector stores of clients are omitted.
	// +optional
	// +listType=atomic
	VectorStores []ResourceInfo `json:"vectorStores,omitempty"`

	// ToolGroups are the tool groups that the server lists. Servers of release line 0.7 and newer list none.
	// +optional
	// +listType=atomic
	ToolGroups []ResourceInfo `json:"toolGroups,omitempty"`

	// Connectors are the MCP servers that the server lists. Only servers of release lines 0.7, 0.8, and 1.3 and newer list
	// them.
	// +optional
	// +listType=atomic
	Connectors []ResourceInfo `json:"connectors,omitempty"`

	// MissingResources are the models, vector stores and tools of the spec that the server does not list, such as
	// "models/vllm/llama3" or "vectorStores/docs". Lists that require authentication are not checked.
	// +optional
	// +listType=atomic
	MissingResources []string `json:"missingResources,omitempty"`

	// AvailableDistributions maps the names of known distributions to their images.
	// +optional
	AvailableDistributions map[string]string `json:"availableDistributions,omitempty"`
}

// ModelInfo is a model of the running server.
type ModelInfo struct {
	// Name is the name of the model in client requests.
	// +optional
	Name string `json:"name"`

	// ProviderID is the id of the provider that serves the model.
	// +optional
	ProviderID string `json:"provider_id"` //nolint:tagliatelle // the server's own name, as for providers

	// NotInSpec reports that a provider of the spec lists the model, and the configuration does not register it: it was
	// removed from the spec, a client registered it, or the model server itself offers it.
	// +optional
	NotInSpec bool `json:"notInSpec,omitempty"`
}

// ResourceInfo is a vector store, tool group or connector of the running server.
type ResourceInfo struct {
	// Name is the name in the server's list. If the list is too long for the status, the last entry counts the omitted
	// ones.
	// +optional
	Name string `json:"name"`

	// ProviderID is the id of its provider, if the server lists it.
	// +optional
	ProviderID string `json:"provider_id,omitempty"` //nolint:tagliatelle // the server's own name, as for providers
}

// ProviderInfo is a provider of the running server.
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

	// Config is the generated configuration of the provider, with placeholders for secrets. If it is too long for the
	// status, a string replaces it.
	// +optional
	Config *apiextensionsv1.JSON `json:"config,omitempty"`

	// Health is never set, because no release line reports the health of providers.
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
