// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/validation"
)

// KeyPodDefaults is the key of a YAML PodDefaults.
const KeyPodDefaults = "podDefaults"

// PodDefaults are defaults for fields of spec.workload.
type PodDefaults struct {
	Scheduling                    *v1alpha2.SchedulingSpec      `json:"scheduling,omitempty"`
	ImagePullSecrets              []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	PodMetadata                   *v1alpha2.PodMetadataSpec     `json:"podMetadata,omitempty"`
	ResourceClaims                []corev1.PodResourceClaim     `json:"resourceClaims,omitempty"`
	TerminationGracePeriodSeconds *int64                        `json:"terminationGracePeriodSeconds,omitempty"`
	Overrides                     *OverrideDefaults             `json:"overrides,omitempty"`
}

// OverrideDefaults are defaults for fields of spec.workload.overrides.
type OverrideDefaults struct {
	// EnvFrom refers to objects in the custom resource's namespace.
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
}

// HasEnvFromFor reports whether a workload gets envFrom from the defaults.
func (d *PodDefaults) HasEnvFromFor(w *v1alpha2.WorkloadSpec) bool {
	return d != nil && d.Overrides != nil && len(d.Overrides.EnvFrom) > 0 &&
		(w == nil || w.Overrides == nil || len(w.Overrides.EnvFrom) == 0)
}

// parsePodDefaults parses KeyPodDefaults; nil if it is empty. Values that Kubernetes would reject in a pod are errors.
func parsePodDefaults(text string) (*PodDefaults, error) {
	var d *PodDefaults
	if err := decode([]byte(text), &d); err != nil {
		return nil, fmt.Errorf("ConfigMap %s, key %s: not a YAML map with fields of spec.workload for scheduling, "+
			"metadata, image pull Secrets and envFrom: %w",
			ConfigMapName, KeyPodDefaults, err)
	}
	if d == nil {
		return nil, nil
	}
	if problems := validation.CheckPodDefaults(d.merge(&v1alpha2.WorkloadSpec{}),
		field.NewPath(KeyPodDefaults)); len(problems) > 0 {
		return nil, fmt.Errorf("ConfigMap %s: %w", ConfigMapName, errors.New(problems.Message()))
	}
	return d, nil
}

// Complete returns the workload with defaults for the fields it does not set. Empty lists and maps count as unset, an
// empty name or affinity as set.
func (d *PodDefaults) Complete(w *v1alpha2.WorkloadSpec) *v1alpha2.WorkloadSpec {
	if d == nil {
		return w
	}
	if w == nil {
		w = &v1alpha2.WorkloadSpec{}
	}
	return d.merge(w)
}

func (d *PodDefaults) merge(w *v1alpha2.WorkloadSpec) *v1alpha2.WorkloadSpec {
	merged := *w
	merged.ImagePullSecrets = listOrDefault(w.ImagePullSecrets, d.ImagePullSecrets)
	merged.ResourceClaims = listOrDefault(w.ResourceClaims, d.ResourceClaims)
	merged.TerminationGracePeriodSeconds = orDefault(w.TerminationGracePeriodSeconds, d.TerminationGracePeriodSeconds)
	if s := d.Scheduling; s != nil {
		own := v1alpha2.SchedulingSpec{}
		if w.Scheduling != nil {
			own = *w.Scheduling
		}
		merged.Scheduling = &v1alpha2.SchedulingSpec{
			NodeSelector:      mapOrDefault(own.NodeSelector, s.NodeSelector),
			Tolerations:       listOrDefault(own.Tolerations, s.Tolerations),
			Affinity:          orDefault(own.Affinity, s.Affinity),
			PriorityClassName: orDefault(own.PriorityClassName, s.PriorityClassName),
			RuntimeClassName:  orDefault(own.RuntimeClassName, s.RuntimeClassName),
		}
	}
	if m := d.PodMetadata; m != nil {
		own := v1alpha2.PodMetadataSpec{}
		if w.PodMetadata != nil {
			own = *w.PodMetadata
		}
		merged.PodMetadata = &v1alpha2.PodMetadataSpec{Labels: mapOrDefault(own.Labels, m.Labels),
			Annotations: mapOrDefault(own.Annotations, m.Annotations)}
	}
	if d.HasEnvFromFor(w) {
		own := v1alpha2.WorkloadOverrides{}
		if w.Overrides != nil {
			own = *w.Overrides
		}
		own.EnvFrom = d.Overrides.EnvFrom
		merged.Overrides = &own
	}
	return &merged
}

func orDefault[T any](own, other *T) *T {
	if own != nil {
		return own
	}
	return other
}

func listOrDefault[T any](own, other []T) []T {
	if len(own) > 0 {
		return own
	}
	return other
}

func mapOrDefault(own, other map[string]string) map[string]string {
	if len(own) > 0 {
		return own
	}
	return other
}
