// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ServerSpec configures the llama-stack server and its pods.
type ServerSpec struct {
	// Distribution identifies the llama-stack distribution to deploy.
	// +required
	Distribution DistributionType `json:"distribution"`

	// ContainerSpec configures the server container.
	// +optional
	ContainerSpec *ContainerSpec `json:"containerSpec,omitempty"`

	// Workers is the number of server worker processes (uvicorn workers) in a pod.
	// By default, a pod requests one CPU for each worker, and one CPU if the number is omitted.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Workers *int32 `json:"workers,omitempty"`

	// PodOverrides customizes the pod at a low level.
	// +optional
	PodOverrides *PodOverrides `json:"podOverrides,omitempty"`

	// PodDisruptionBudget configures a PodDisruptionBudget for the server's pods.
	// +optional
	PodDisruptionBudget *PodDisruptionBudgetSpec `json:"podDisruptionBudget,omitempty"`

	// TopologySpreadConstraints spread the pods over the cluster.
	// +optional
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// Autoscaling configures a HorizontalPodAutoscaler for the server's pods.
	// +optional
	Autoscaling *AutoscalingSpec `json:"autoscaling,omitempty"`

	// Storage configures a PVC for the server's data. {} is a PVC of 10Gi mounted at /.llama.
	// +optional
	Storage *StorageSpec `json:"storage,omitempty"`

	// UserConfig refers to a ConfigMap with a complete config.yaml.
	// +optional
	UserConfig *UserConfigSpec `json:"userConfig,omitempty"`

	// TLSConfig configures the CA certificates that the server trusts.
	// +optional
	TLSConfig *TLSConfig `json:"tlsConfig,omitempty"`
}

// DistributionType identifies the llama-stack distribution to deploy. Name and image are mutually exclusive.
// As in operator release 0.9, an object with neither is accepted; the status reports the error.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.name) && size(self.name) > 0 && has(self.image) && size(self.image) > 0)",message="name and image are mutually exclusive: keep one of them"
type DistributionType struct {
	// Name is the name of a known distribution, such as "starter".
	// +optional
	Name *string `json:"name,omitempty"`

	// Image is a direct container image reference to use.
	// +optional
	Image *string `json:"image,omitempty"`
}

// ContainerSpec configures the server container.
type ContainerSpec struct {
	// Name is the name of the container.
	// +optional
	// +kubebuilder:default=llama-stack
	Name *string `json:"name,omitempty"`

	// Port is the port that the server listens on. The default is 8321.
	// +optional
	Port *int32 `json:"port,omitempty"`

	// Resources are the requests and limits of the container.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// Env are environment variables of the container. Distributions read much of their configuration from them.
	// +optional
	Env []corev1.EnvVar `json:"env,omitempty"`

	// Command overrides the entrypoint of the container.
	// +optional
	Command []string `json:"command,omitempty"`

	// Args overrides the arguments of the container.
	// +optional
	Args []string `json:"args,omitempty"`
}

// PodOverrides customizes the pod at a low level.
type PodOverrides struct {
	// ServiceAccountName is the name of an existing ServiceAccount to use instead of the operator's.
	// +optional
	ServiceAccountName *string `json:"serviceAccountName,omitempty"`

	// TerminationGracePeriodSeconds is the time in seconds that a pod has to shut down. Kubernetes' default is 30.
	// +optional
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`

	// Volumes are additional volumes of the pod.
	// +optional
	Volumes []corev1.Volume `json:"volumes,omitempty"`

	// VolumeMounts are additional volume mounts of the server container.
	// +optional
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
}

// PodDisruptionBudgetSpec configures a PodDisruptionBudget.
type PodDisruptionBudgetSpec struct {
	// MinAvailable is the number or percentage of pods that must remain available.
	// +optional
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`

	// MaxUnavailable is the number or percentage of pods that may be unavailable.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// AutoscalingSpec configures a HorizontalPodAutoscaler.
type AutoscalingSpec struct {
	// MinReplicas is the lower bound of the replica count.
	// +optional
	MinReplicas *int32 `json:"minReplicas,omitempty"`

	// MaxReplicas is the upper bound of the replica count. 0 disables the HorizontalPodAutoscaler.
	// +required
	MaxReplicas *int32 `json:"maxReplicas,omitempty"`

	// TargetCPUUtilizationPercentage is the target average CPU utilization, in percent of the requests.
	// +optional
	TargetCPUUtilizationPercentage *int32 `json:"targetCPUUtilizationPercentage,omitempty"`

	// TargetMemoryUtilizationPercentage is the target average memory utilization, in percent of the requests.
	// +optional
	TargetMemoryUtilizationPercentage *int32 `json:"targetMemoryUtilizationPercentage,omitempty"`
}

// StorageSpec configures a PVC for the server's data.
type StorageSpec struct {
	// Size is the size of the PVC. The default is 10Gi.
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`

	// MountPath is the mount path of the volume. The default is /.llama.
	// +optional
	MountPath *string `json:"mountPath,omitempty"`
}

// UserConfigSpec refers to a ConfigMap with a complete config.yaml.
type UserConfigSpec struct {
	// ConfigMapName is the name of the ConfigMap.
	// +required
	ConfigMapName string `json:"configMapName"`

	// ConfigMapNamespace is the namespace of the ConfigMap. The default is the namespace of the resource.
	// +optional
	ConfigMapNamespace *string `json:"configMapNamespace,omitempty"`
}

// TLSConfig configures which CA certificates the server trusts.
type TLSConfig struct {
	// CABundle refers to a ConfigMap with CA certificates.
	// +optional
	CABundle *CABundleConfig `json:"caBundle,omitempty"`
}

// CABundleConfig refers to a ConfigMap with CA certificates.
type CABundleConfig struct {
	// ConfigMapName is the name of the ConfigMap.
	// +required
	ConfigMapName string `json:"configMapName"`

	// ConfigMapNamespace is the namespace of the ConfigMap. The default is the namespace of the resource.
	// +optional
	ConfigMapNamespace *string `json:"configMapNamespace,omitempty"`

	// ConfigMapKeys are the keys of the ConfigMap with certificates in PEM format. All of them are trusted.
	// The default is ca-bundle.crt, otherwise ca.crt, otherwise the only key of the ConfigMap.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9\-_.]*[a-zA-Z0-9])?$`
	ConfigMapKeys []string `json:"configMapKeys,omitempty"`
}
