// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"path"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

const defaultPVCSize = "10Gi"

// KindPVC is the kind of the server's data volume.
const KindPVC = "PersistentVolumeClaim"

func storageSpec(spec *v1alpha2.LlamaStackDistributionSpec) *v1alpha2.PVCStorageSpec {
	if spec.Workload == nil {
		return nil
	}
	return spec.Workload.Storage
}

// DataDir returns the mount path of the server's data volume.
func DataDir(spec *v1alpha2.LlamaStackDistributionSpec) string {
	if c := storageSpec(spec); c != nil && ptr.Deref(c.MountPath, "") != "" {
		return path.Clean(*c.MountPath)
	}
	return v1alpha2.DefaultMountPath
}

// ClaimName returns the name of the PVC for the server's data, or "" if the data is ephemeral.
func ClaimName(cr *v1alpha2.LlamaStackDistribution) string {
	c := storageSpec(&cr.Spec)
	if c == nil {
		return ""
	}
	return cmp.Or(ptr.Deref(c.ClaimName, ""), names.PVCName(cr.Name))
}

// NamedClaim returns the name of the existing PVC in spec.workload.storage.claimName, or "".
func NamedClaim(spec *v1alpha2.LlamaStackDistributionSpec) string {
	if c := storageSpec(spec); c != nil {
		return ptr.Deref(c.ClaimName, "")
	}
	return ""
}

// SharesData reports whether pods on several nodes can mount the PVC. claim are the access modes of the named PVC.
func SharesData(spec *v1alpha2.LlamaStackDistributionSpec, claim []corev1.PersistentVolumeAccessMode) bool {
	c := storageSpec(spec)
	if c == nil {
		return false
	}
	if ptr.Deref(c.ClaimName, "") == "" {
		claim = c.AccessModes
	}
	return slices.Contains(claim, corev1.ReadWriteMany)
}

// isExclusive reports whether a new pod may be unable to mount the data or the model cache before the old pod ends.
func isExclusive(p *Params) bool {
	return storageSpec(&p.CR.Spec) != nil && !SharesData(&p.CR.Spec, p.ClaimModes) || IsOneNode(p.ModelCacheModes)
}

const stateDirs = "distributions"

// StateDir returns the state's directory in the data volume, which is named after the distribution. On a PVC it keeps
// the directory of the live pods, so that another distribution finds the state.
func StateDir(cr *v1alpha2.LlamaStackDistribution, distribution string, live *corev1.PodSpec) string {
	if live != nil && storageSpec(&cr.Spec) != nil && MountsPVC(live, ClaimName(cr)) {
		for i := range live.Containers {
			for _, m := range live.Containers[i].VolumeMounts {
				if m.Name == dataVolume && path.Dir(m.SubPath) == stateDirs {
					return m.SubPath
				}
			}
		}
	}
	if distribution == "" {
		return ""
	}
	return path.Join(stateDirs, distribution)
}

// PersistentVolumeClaim returns the PVC for the server's data, or nil if the data is ephemeral or in a named PVC. It
// has no owner if it outlives the resource.
func PersistentVolumeClaim(p *Params) *corev1.PersistentVolumeClaim {
	c := storageSpec(&p.CR.Spec)
	if c == nil || NamedClaim(&p.CR.Spec) != "" && !p.OwnsNamedClaim {
		return nil
	}
	size := resource.MustParse(defaultPVCSize)
	if c.Size != nil && !c.Size.IsZero() {
		size = *c.Size
	}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	if len(c.AccessModes) > 0 {
		modes = c.AccessModes
	}
	claim := &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: objectMeta(p.CR, names.PVCName(p.CR.Name)),
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      modes,
			StorageClassName: c.StorageClassName,
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
		},
	}
	if p.OwnsNamedClaim || ptr.Deref(c.WhenDeleted, "") == v1alpha2.WhenDeletedRetain {
		claim.OwnerReferences = nil
	}
	return claim
}

func dataSource(p *Params) corev1.VolumeSource {
	if storageSpec(&p.CR.Spec) == nil {
		return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	}
	pvc := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: ClaimName(p.CR)}
	return corev1.VolumeSource{PersistentVolumeClaim: pvc}
}

// strategy returns Recreate for a PVC of one node, which a new pod may not reach, else a rolling update without fewer
// pods.
func strategy(p *Params) appsv1.DeploymentStrategy {
	if isExclusive(p) {
		return appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	}
	return appsv1.DeploymentStrategy{
		Type: appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxSurge: new(intstr.FromString("25%")), MaxUnavailable: new(intstr.FromInt32(0)),
		},
	}
}
