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
	// Unless resources say otherwise, a pod requests one CPU for each worker, and one CPU where no number is given.
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

	// Storage configures a PVC for the server's data. {} means a PVC of 10Gi at /.llama.
	// +optional
	Storage *StorageSpec `json:"storage,omitempty"`

	// UserConfig names a ConfigMap that holds the complete config.yaml.
	// +optional
	UserConfig *UserConfigSpec `json:"userConfig,omitempty"`

	// TLSConfig configures which CA certificates the server trusts.
	// +optional
	TLSConfig *TLSConfig `json:"tlsConfig,omitempty"`
}

// DistributionType identifies the llama-stack distribution to deploy. Name and image exclude each other.
// Neither is admitted, as in operator release 0.9, and reported in the status.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.name) && size(self.name) > 0 && has(self.image) && size(self.image) > 0)",message="name and image exclude each other: keep one of them"
type DistributionType struct {
	// Name is the name of a distribution that the operator knows, such as "starter".
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

	// Port is the port that the server listens on; 8321 where none is given.
	// +optional
	Port *int32 `json:"port,omitempty"`

	// Resources are the requests and limits of the container.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// Env are environment variables of the container; the distributions read much of their configuration from them.
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
	// ServiceAccountName names a ServiceAccount of the user's own, used instead of the one that the operator creates.
	// +optional
	ServiceAccountName *string `json:"serviceAccountName,omitempty"`

	// TerminationGracePeriodSeconds is the time in seconds that a pod has to shut down; Kubernetes' own default is 30.
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

	// MaxReplicas is the upper bound of the replica count. 0 asks for no HorizontalPodAutoscaler.
	// +required
	MaxReplicas *int32 `json:"maxReplicas,omitempty"`

	// TargetCPUUtilizationPercentage is the average CPU utilization to aim at, in percent of the requests.
	// +optional
	TargetCPUUtilizationPercentage *int32 `json:"targetCPUUtilizationPercentage,omitempty"`

	// TargetMemoryUtilizationPercentage is the average memory utilization to aim at, in percent of the requests.
	// +optional
	TargetMemoryUtilizationPercentage *int32 `json:"targetMemoryUtilizationPercentage,omitempty"`
}

// StorageSpec configures a PVC for the server's data.
type StorageSpec struct {
	// Size is the size of the PVC. The default is 10Gi.
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`

	// MountPath is where the volume is mounted; /.llama where none is given.
	// +optional
	MountPath *string `json:"mountPath,omitempty"`
}

// UserConfigSpec names a ConfigMap that holds the complete config.yaml.
type UserConfigSpec struct {
	// ConfigMapName is the name of the ConfigMap.
	// +required
	ConfigMapName string `json:"configMapName"`

	// ConfigMapNamespace is the namespace of the ConfigMap; the namespace of the resource where none is given.
	// +optional
	ConfigMapNamespace *string `json:"configMapNamespace,omitempty"`
}

// TLSConfig configures which CA certificates the server trusts.
type TLSConfig struct {
	// CABundle names a ConfigMap that holds CA certificates.
	// +optional
	CABundle *CABundleConfig `json:"caBundle,omitempty"`
}

// CABundleConfig names a ConfigMap that holds CA certificates.
type CABundleConfig struct {
	// ConfigMapName is the name of the ConfigMap.
	// +required
	ConfigMapName string `json:"configMapName"`

	// ConfigMapNamespace is the namespace of the ConfigMap; the namespace of the resource where none is given.
	// +optional
	ConfigMapNamespace *string `json:"configMapNamespace,omitempty"`

	// ConfigMapKeys are the keys of the ConfigMap that hold certificates in PEM form; all of them are trusted.
	// Where none is given the key is ca-bundle.crt, else ca.crt, else the only key of the ConfigMap.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9\-_.]*[a-zA-Z0-9])?$`
	ConfigMapKeys []string `json:"configMapKeys,omitempty"`
}
