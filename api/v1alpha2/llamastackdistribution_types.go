// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kind is the kind of the resource.
const Kind = "LlamaStackDistribution"

// LlamaStackDistribution is a llama-stack server: which distribution it runs, which providers, models and storage
// it uses, and how it is exposed. The operator generates the server's configuration from it and runs the server.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.workload.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=llsd,categories=all;llamastack
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Providers",type=integer,JSONPath=`.status.configGeneration.providerCount`
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Generation",type=integer,JSONPath=`.metadata.generation`,priority=1
// +kubebuilder:printcolumn:name="Observed",type=integer,JSONPath=`.status.conditions[?(@.type=="Ready")].observedGeneration`,priority=1
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.status.serviceURL`,priority=1
// +kubebuilder:printcolumn:name="Distribution",type=string,JSONPath=`.status.distributionConfig.activeDistribution`,priority=1
// +kubebuilder:printcolumn:name="Release Line",type=string,JSONPath=`.status.resolvedDistribution.serverLine`,priority=1
// +kubebuilder:printcolumn:name="Config",type=string,JSONPath=`.status.configGeneration.configMapName`,priority=1
// +kubebuilder:printcolumn:name="Server Version",type=string,JSONPath=`.status.version.llamaStackServerVersion`,priority=1
// +kubebuilder:printcolumn:name="Operator Version",type=string,JSONPath=`.status.version.operatorVersion`,priority=1
type LlamaStackDistribution struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state.
	// +required
	Spec LlamaStackDistributionSpec `json:"spec"`

	// Status is the observed state. Only the operator writes it.
	// +optional
	Status LlamaStackDistributionStatus `json:"status,omitempty"`
}

// LlamaStackDistributionList is a list of LlamaStackDistribution.
//
// +kubebuilder:object:root=true
type LlamaStackDistributionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the resources of the list.
	Items []LlamaStackDistribution `json:"items"`
}

// LlamaStackDistributionSpec is the desired state of a LlamaStackDistribution.
//
// +kubebuilder:validation:XValidation:rule="!has(self.overrideConfig) || !has(self.providers)",fieldPath=".overrideConfig",message="overrideConfig excludes providers: remove spec.providers, or put the providers into the ConfigMap and keep spec.overrideConfig alone"
// +kubebuilder:validation:XValidation:rule="!has(self.overrideConfig) || !has(self.resources)",fieldPath=".overrideConfig",message="overrideConfig excludes resources: remove spec.resources, or register models, tools and shields in the ConfigMap"
// +kubebuilder:validation:XValidation:rule="!has(self.overrideConfig) || !has(self.storage) || !(has(self.storage.kv) || has(self.storage.sql) || has(self.storage.backends) && self.storage.backends.size() > 0)",fieldPath=".overrideConfig",message="overrideConfig excludes storage: remove spec.storage, or configure the storage backends in the ConfigMap"
// +kubebuilder:validation:XValidation:rule="!has(self.overrideConfig) || !has(self.disabled) || size(self.disabled) == 0",fieldPath=".overrideConfig",message="overrideConfig excludes disabled: remove spec.disabled, or leave the APIs out of the ConfigMap"
// +kubebuilder:validation:XValidation:rule="!has(self.overrideConfig) || !has(self.auth)",fieldPath=".overrideConfig",message="overrideConfig excludes auth: remove spec.auth, or write server.auth into the ConfigMap"
type LlamaStackDistributionSpec struct {
	// Distribution identifies the llama-stack distribution to deploy.
	// +required
	Distribution DistributionSpec `json:"distribution"`

	// Providers configures llama-stack providers by API. Each other API that the server's release line has is also a
	// field: agents, batches, containerRuntime, datasetio, eval, fileProcessors, files, interactions, messages,
	// postTraining, responses, scoring, skills.
	// +optional
	Providers *ProvidersSpec `json:"providers,omitempty"`

	// Resources declares models, tools, shields and vector stores to register.
	// +optional
	Resources *ResourcesSpec `json:"resources,omitempty"`

	// Storage configures state storage backends (KV and SQL). Omitted backends keep the distribution's settings.
	// +optional
	Storage *StateStorageSpec `json:"storage,omitempty"`

	// Disabled is a list of llama-stack API names to disable, in camelCase or snake_case.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=63
	Disabled []string `json:"disabled,omitempty"`

	// Networking consolidates network configuration.
	// +optional
	Networking *NetworkingSpec `json:"networking,omitempty"`

	// Auth configures authentication and authorization. If omitted, the distribution's settings apply; most allow
	// anonymous access.
	// +optional
	Auth *AuthSpec `json:"auth,omitempty"`

	// Monitoring exposes the metrics of the server to Prometheus.
	// +optional
	Monitoring *MonitoringSpec `json:"monitoring,omitempty"`

	// Workload consolidates Kubernetes deployment settings.
	// +optional
	Workload *WorkloadSpec `json:"workload,omitempty"`

	// ExternalProviders adds providers from images: for each API an object or a list of objects {providerId, image,
	// imagePullPolicy, endpoint, apiKey, secretRefs, config, package}.
	// An entry replaces the provider with the same id in the same API.
	// +optional
	ExternalProviders *apiextensionsv1.JSON `json:"externalProviders,omitempty"`

	// OverrideConfig refers to a ConfigMap with a complete config.yaml.
	// Mutually exclusive with providers, resources, storage, disabled and auth.
	// +optional
	OverrideConfig *OverrideConfigSpec `json:"overrideConfig,omitempty"`
}

// DistributionSpec identifies the llama-stack distribution to deploy.
// Exactly one of name and image must be set.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.name) && self.name.size() > 0 && has(self.image) && self.image.size() > 0)",message="name and image are mutually exclusive: keep one of them"
// +kubebuilder:validation:XValidation:rule="(has(self.name) && self.name.size() > 0) || (has(self.image) && self.image.size() > 0)",message="one of name and image is required: for example name: starter"
type DistributionSpec struct {
	// Name is the name of a known distribution, such as "starter".
	// It resolves to the image of a release; the operator's settings can register further names.
	// +optional
	Name *string `json:"name,omitempty"`

	// Image is a direct container image reference to use.
	// +optional
	Image *string `json:"image,omitempty"`

	// Version is the release of the server: a release line such as "1.5", or a release such as "1.5.0".
	// With name, it selects the release. If omitted, a new server gets the newest release line that supports the spec, and
	// a running server keeps its release line. With image, it declares the release in the image.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{1,3}[.][0-9]{1,3}([.][0-9]{1,3}([-+][0-9A-Za-z.+-]*)?)?$')",message="want a release line or a release of the server: for example \"1.5\" or \"1.5.0\""
	Version *string `json:"version,omitempty"`
}

// OverrideConfigSpec refers to a ConfigMap with a complete config.yaml.
type OverrideConfigSpec struct {
	// ConfigMapName is the name of the ConfigMap with the key config.yaml.
	// It must be in the namespace of the resource.
	// +required
	// +kubebuilder:validation:MinLength=1
	ConfigMapName string `json:"configMapName"`
}
