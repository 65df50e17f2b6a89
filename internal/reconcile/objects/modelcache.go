// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

const (
	// ModelCacheVolume is the volume with the model cache.
	ModelCacheVolume = "model-cache"

	modelCacheDir = "/opt/llama-stack/model-cache"
)

// ModelCache returns spec.workload.modelCache; empty if there is none.
func ModelCache(spec *v1alpha2.LlamaStackDistributionSpec) v1alpha2.ModelCacheSpec {
	return ptr.Deref(workloadOf(spec).ModelCache, v1alpha2.ModelCacheSpec{})
}

// HasModelCache reports whether the server has a model cache, and so downloads no models.
func HasModelCache(spec *v1alpha2.LlamaStackDistributionSpec) bool {
	c := ModelCache(spec)
	return c.Image != nil || c.ClaimName != nil
}

// modelCacheEnvironment returns the variables of the model cache. Only the directory of the models is read-only:
// HF_HOME stays writable, because the code of models and logs are written there.
func modelCacheEnvironment(p *Params) []corev1.EnvVar {
	if !HasModelCache(&p.CR.Spec) {
		return nil
	}
	return []corev1.EnvVar{
		{Name: "HF_HUB_CACHE", Value: path.Join(modelCacheDir, "hub")}, {Name: "HF_HUB_OFFLINE", Value: "1"},
		{Name: "TRANSFORMERS_OFFLINE", Value: "1"},
	}
}

// modelCacheSource returns the source of the model cache. A read-only claim keeps the kubelet from changing the owner
// of its files.
func modelCacheSource(p *Params) corev1.VolumeSource {
	if claim := ModelCache(&p.CR.Spec).ClaimName; claim != nil {
		return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: *claim,
			ReadOnly: true}}
	}
	return corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: p.ModelCacheImage}}
}

// IsOneNode reports whether a PVC with these access modes can be mounted by one node at a time; false if they are
// unknown.
func IsOneNode(modes []corev1.PersistentVolumeAccessMode) bool {
	return len(modes) > 0 && !slices.Contains(modes, corev1.ReadWriteMany) && !slices.Contains(modes, corev1.ReadOnlyMany)
}
