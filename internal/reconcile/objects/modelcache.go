// SPDX-License-Identifier: Apache-2.0

package objects

import (
	_ "embed"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// modelCacheScript checks the models in the cache. The image's Python runs it.
//
//go:embed modelcache.py
var modelCacheScript string

const (
	// ModelCacheVolume is the volume with the model cache.
	ModelCacheVolume = "model-cache"

	modelCacheDir       = "/opt/llama-stack/model-cache"
	modelCacheHub       = modelCacheDir + "/hub"
	modelCacheContainer = "check-model-cache"
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
		{Name: "HF_HUB_CACHE", Value: modelCacheHub}, {Name: "HF_HUB_OFFLINE", Value: "1"},
		{Name: "TRANSFORMERS_OFFLINE", Value: "1"},
	}
}

// modelCacheContainers returns the container that reports missing models before the server replaces the running one.
func modelCacheContainers(p *Params) []corev1.Container {
	if !HasModelCache(&p.CR.Spec) {
		return nil
	}
	return []corev1.Container{{
		Name:                     modelCacheContainer,
		Image:                    p.Image,
		Command:                  append([]string{"python3", "-c", modelCacheScript, modelCacheHub}, p.LocalModels...),
		VolumeMounts:             []corev1.VolumeMount{modelCacheMount()},
		Resources:                sharedResources(p),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false),
			ReadOnlyRootFilesystem:   new(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}}
}

func modelCacheMount() corev1.VolumeMount {
	return corev1.VolumeMount{Name: ModelCacheVolume, MountPath: modelCacheDir, ReadOnly: true}
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
