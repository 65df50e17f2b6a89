// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
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
	// By default, a pod requests one CPU for each worker, and one CPU if the number is omitted.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Workers *int32 `json:"workers,omitempty"`

	// Resources are the requests and limits of the server container. The default requests are one CPU for each worker and
	// 1Gi of memory. There are no default limits.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// Autoscaling configures a HorizontalPodAutoscaler.
	// +optional
	Autoscaling *AutoscalingSpec `json:"autoscaling,omitempty"`

	// Storage configures a PVC for the server's data. {} is a PVC of 10Gi mounted at /.llama.
	// +optional
	Storage *PVCStorageSpec `json:"storage,omitempty"`

	// ModelCache has the models that the server would download from Hugging Face. With it, the server downloads none. The
	// default is that of the operator's settings.
	// +optional
	ModelCache *ModelCacheSpec `json:"modelCache,omitempty"`

	// PodDisruptionBudget configures a PodDisruptionBudget.
	// +optional
	PodDisruptionBudget *PodDisruptionBudgetSpec `json:"podDisruptionBudget,omitempty"`

	// TopologySpreadConstraints spread the pods over the cluster.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// Scheduling configures the scheduling of the pods.
	// +optional
	Scheduling *SchedulingSpec `json:"scheduling,omitempty"`

	// ImagePullSecrets refer to Secrets with credentials for the image registry.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// PodMetadata are labels and annotations of the pods, in addition to the operator's.
	// +optional
	PodMetadata *PodMetadataSpec `json:"podMetadata,omitempty"`

	// ResourceClaims are the resource claims of the pods. The resources of the server refer to them by name.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	ResourceClaims []corev1.PodResourceClaim `json:"resourceClaims,omitempty"`

	// TerminationGracePeriodSeconds is the time in seconds that a pod has to shut down. Kubernetes' default is 30.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`

	// Rollback says when the former pods return: OnFailure, if a new pod that no other runs beside does not start for two
	// minutes, or Never. The default is OnFailure.
	// +optional
	// +kubebuilder:validation:Enum=OnFailure;Never
	Rollback *string `json:"rollback,omitempty"`

	// StartupTimeoutSeconds is the time in seconds in which the server must become ready after its container started. The
	// default is 600.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=86400
	StartupTimeoutSeconds *int32 `json:"startupTimeoutSeconds,omitempty"`

	// Overrides customizes the pod at a low level.
	// +optional
	Overrides *WorkloadOverrides `json:"overrides,omitempty"`
}

// RollbackNever is the value of WorkloadSpec.Rollback that keeps pods that do not start.
const RollbackNever = "Never"

// SchedulingSpec configures the scheduling of the pods.
type SchedulingSpec struct {
	// NodeSelector are the labels of the nodes on which the pods may run.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// Tolerations are the tolerations of the pods.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// Affinity replaces the operator's default, which prefers nodes without a pod of the same server.
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
	// Labels are added to those of the operator, and cannot replace them.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations are added to those of the operator, and cannot replace them.
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

	// TargetCPUUtilizationPercentage is the target average CPU utilization, in percent of the requests.
	// +optional
	TargetCPUUtilizationPercentage *int32 `json:"targetCPUUtilizationPercentage,omitempty"`

	// TargetMemoryUtilizationPercentage is the target average memory utilization, in percent of the requests.
	// +optional
	TargetMemoryUtilizationPercentage *int32 `json:"targetMemoryUtilizationPercentage,omitempty"`

	// Metrics are further metrics, each a MetricSpec of autoscaling/v2. With metrics, there is no default target.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Metrics []apiextensionsv1.JSON `json:"metrics,omitempty"`

	// Behavior is a HorizontalPodAutoscalerBehavior of autoscaling/v2.
	// +optional
	Behavior *apiextensionsv1.JSON `json:"behavior,omitempty"`
}

// DefaultMountPath is the default mount path of the volume for the server's data.
const DefaultMountPath = "/.llama"

// The values of whenDeleted.
const (
	// WhenDeletedRetain keeps the PVC when the resource is deleted.
	WhenDeletedRetain = "Retain"
	// WhenDeletedDelete deletes the PVC with the resource.
	WhenDeletedDelete = "Delete"
)

// PVCStorageSpec configures a PVC.
//
// +kubebuilder:validation:XValidation:rule="!has(self.claimName) || !(has(self.size) || has(self.storageClassName) || has(self.accessModes))",fieldPath=".claimName",message="claimName excludes size, storageClassName and accessModes, which the existing PVC has: remove them, or remove claimName"
// +kubebuilder:validation:XValidation:rule="!has(self.accessModes) || self.accessModes.size() < 2 || !self.accessModes.exists(m, m == 'ReadWriteOncePod')",fieldPath=".accessModes",message="ReadWriteOncePod excludes other access modes: keep one of them"
// +kubebuilder:validation:XValidation:rule="!has(self.claimName) || !has(self.whenDeleted) || self.whenDeleted == 'Retain'",fieldPath=".whenDeleted",message="the operator never deletes a PVC that claimName names: remove whenDeleted"
type PVCStorageSpec struct {
	// Size is the size of a new PVC, and increases that of an existing one. The default is 10Gi.
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`

	// MountPath is the mount path of the volume. The default is /.llama.
	// +optional
	MountPath *string `json:"mountPath,omitempty"`

	// StorageClassName is the StorageClass of a new PVC. The default is that of the cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	StorageClassName *string `json:"storageClassName,omitempty"`

	// AccessModes are the access modes of a new PVC. The default is ReadWriteOnce. Pods on several nodes need
	// ReadWriteMany.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:Enum=ReadWriteOnce;ReadWriteMany;ReadWriteOncePod
	AccessModes []corev1.PersistentVolumeAccessMode `json:"accessModes,omitempty"`

	// ClaimName is the name of an existing PVC to use. The operator never deletes it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClaimName *string `json:"claimName,omitempty"`

	// WhenDeleted is Retain to keep the PVC when the resource is deleted; a new resource of the same name uses it again.
	// The default is Delete.
	// +optional
	// +kubebuilder:validation:Enum=Retain;Delete
	WhenDeleted *string `json:"whenDeleted,omitempty"`
}

// ModelCacheSpec names an image or a PVC with a cache of Hugging Face in the directory hub. It is mounted read-only.
//
// +kubebuilder:validation:XValidation:rule="has(self.image) != has(self.claimName)",message="give either image, or claimName"
type ModelCacheSpec struct {
	// Image is an image with the cache. The cluster must support image volumes.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1000
	Image *string `json:"image,omitempty"`

	// ClaimName is the name of an existing PVC with the cache.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClaimName *string `json:"claimName,omitempty"`
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
	// ServiceAccountName is the name of an existing ServiceAccount to use instead of the operator's.
	// +optional
	ServiceAccountName *string `json:"serviceAccountName,omitempty"`

	// Env are additional environment variables.
	// +optional
	// +kubebuilder:validation:MaxItems=200
	Env []corev1.EnvVar `json:"env,omitempty"`

	// EnvFrom are Secrets and ConfigMaps whose keys become environment variables. Variables of env and of the operator
	// take precedence.
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

	// Sidecars are additional containers of the pod, each a Container of Kubernetes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Sidecars []apiextensionsv1.JSON `json:"sidecars,omitempty"`

	// InitContainers are additional init containers of the pod, each a Container of Kubernetes. With
	// restartPolicy: Always, one starts before the server and runs beside it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	InitContainers []apiextensionsv1.JSON `json:"initContainers,omitempty"`
}
