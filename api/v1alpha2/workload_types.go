// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// WorkloadSpec consolidates Kubernetes deployment settings.
type WorkloadSpec struct {
	// Replicas is the desired number of pods.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// Workers is the number of server worker processes in a pod.
	// Unless resources say otherwise, a pod requests one CPU for each worker, and one CPU where no number is given.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Workers *int32 `json:"workers,omitempty"`

	// Resources are the requests and limits of the server container. CPU and memory that they do not request default to
	// one CPU for each worker and 1Gi. Limits are set only where they are given here.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// Autoscaling configures a HorizontalPodAutoscaler.
	// +optional
	Autoscaling *AutoscalingSpec `json:"autoscaling,omitempty"`

	// Storage configures a PVC for the server's data. {} means a PVC of 10Gi at /.llama.
	// +optional
	Storage *PVCStorageSpec `json:"storage,omitempty"`

	// PodDisruptionBudget configures a PodDisruptionBudget.
	// +optional
	PodDisruptionBudget *PodDisruptionBudgetSpec `json:"podDisruptionBudget,omitempty"`

	// TopologySpreadConstraints spread the pods over the cluster.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// Scheduling decides on which nodes the pods run, and how.
	// +optional
	Scheduling *SchedulingSpec `json:"scheduling,omitempty"`

	// ImagePullSecrets name the Secrets with the credentials for the registry of the image.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// PodMetadata are labels and annotations of the pods, in addition to the operator's.
	// +optional
	PodMetadata *PodMetadataSpec `json:"podMetadata,omitempty"`

	// ResourceClaims are the devices that the pods ask for. The resources of the server refer to them by name.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	ResourceClaims []corev1.PodResourceClaim `json:"resourceClaims,omitempty"`

	// TerminationGracePeriodSeconds is how long a pod may take to end, in seconds. Kubernetes' default is 30.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`

	// Overrides customizes the pod at a low level.
	// +optional
	Overrides *WorkloadOverrides `json:"overrides,omitempty"`
}

// SchedulingSpec decides on which nodes the pods run, and how.
type SchedulingSpec struct {
	// NodeSelector are the labels of the nodes that the pods may run on.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// Tolerations are the taints of nodes that the pods tolerate.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// Affinity replaces the operator's rule, which prefers nodes without a pod of the same server.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// PriorityClassName is the name of the PriorityClass of the pods.
	// +optional
	PriorityClassName *string `json:"priorityClassName,omitempty"`

	// RuntimeClassName is the name of the RuntimeClass of the pods.
	// +optional
	RuntimeClassName *string `json:"runtimeClassName,omitempty"`
}

// PodMetadataSpec are labels and annotations of the pods.
type PodMetadataSpec struct {
	// Labels are added to the operator's own, which they cannot replace.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations are added to the operator's own, which they cannot replace.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	Annotations map[string]string `json:"annotations,omitempty"`
}

// AutoscalingSpec configures a HorizontalPodAutoscaler.
type AutoscalingSpec struct {
	// MinReplicas is the lower bound of the replica count.
	// +optional
	MinReplicas *int32 `json:"minReplicas,omitempty"`

	// MaxReplicas is the upper bound of the replica count.
	// +optional
	MaxReplicas *int32 `json:"maxReplicas,omitempty"`

	// TargetCPUUtilizationPercentage is the average CPU utilization to aim at, in percent of the requests.
	// +optional
	TargetCPUUtilizationPercentage *int32 `json:"targetCPUUtilizationPercentage,omitempty"`

	// TargetMemoryUtilizationPercentage is the average memory utilization to aim at, in percent of the requests.
	// +optional
	TargetMemoryUtilizationPercentage *int32 `json:"targetMemoryUtilizationPercentage,omitempty"`
}

// DefaultMountPath is where the volume for the server's data is mounted where the resource names no path.
const DefaultMountPath = "/.llama"

// PVCStorageSpec configures a PVC.
type PVCStorageSpec struct {
	// Size is the size of the PVC. The default is 10Gi.
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`

	// MountPath is where the volume is mounted; /.llama where none is given.
	// +optional
	MountPath *string `json:"mountPath,omitempty"`
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

// WorkloadOverrides customizes the pod at a low level.
type WorkloadOverrides struct {
	// ServiceAccountName names a ServiceAccount of the user's own.
	// +optional
	ServiceAccountName *string `json:"serviceAccountName,omitempty"`

	// Env are additional environment variables.
	// +optional
	// +kubebuilder:validation:MaxItems=200
	Env []corev1.EnvVar `json:"env,omitempty"`

	// EnvFrom are Secrets and ConfigMaps of which each key becomes an environment variable. A variable of env or of the
	// operator wins.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`

	// Command overrides the entrypoint of the container.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	Command []string `json:"command,omitempty"`

	// Args overrides the arguments of the container.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	Args []string `json:"args,omitempty"`

	// Volumes are additional volumes of the pod.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	Volumes []corev1.Volume `json:"volumes,omitempty"`

	// VolumeMounts are additional volume mounts of the container.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
}
