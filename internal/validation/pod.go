// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// CheckPodDefaults checks the pod defaults in the operator's settings.
func CheckPodDefaults(w *v1alpha2.WorkloadSpec, at *field.Path) problem.List {
	c := &check{}
	c.pod(w, at)
	if w.Overrides != nil {
		c.environmentFrom(w.Overrides.EnvFrom, at.Child("overrides", "envFrom"))
	}
	return c.problems.List()
}

// pod checks pod metadata, image pull Secrets and scheduling.
func (c *check) pod(w *v1alpha2.WorkloadSpec, at *field.Path) {
	c.podMetadata(ptr.Deref(w.PodMetadata, v1alpha2.PodMetadataSpec{}), at.Child("podMetadata"))
	for i := range w.ImagePullSecrets {
		c.requiredName(at.Child("imagePullSecrets").Index(i).Child("name"), w.ImagePullSecrets[i].Name, "Secret")
	}
	s, at := ptr.Deref(w.Scheduling, v1alpha2.SchedulingSpec{}), at.Child("scheduling")
	c.name(at.Child("priorityClassName"), ptr.Deref(s.PriorityClassName, ""), "PriorityClass")
	c.name(at.Child("runtimeClassName"), ptr.Deref(s.RuntimeClassName, ""), "RuntimeClass")
	if s.Affinity != nil {
		c.podAffinity(ptr.Deref(s.Affinity.PodAffinity, corev1.PodAffinity{}), at.Child("affinity", "podAffinity"))
		c.podAffinity(corev1.PodAffinity(ptr.Deref(s.Affinity.PodAntiAffinity, corev1.PodAntiAffinity{})),
			at.Child("affinity", "podAntiAffinity"))
	}
}

// usedClaims reports container claims without a ResourceClaim of the pod, which the API server rejects only when a pod
// is created.
func (c *check) usedClaims(w *v1alpha2.WorkloadSpec, at *field.Path) {
	used := ptr.Deref(w.Resources, corev1.ResourceRequirements{}).Claims
	for i := range used {
		has := func(r corev1.PodResourceClaim) bool { return r.Name == used[i].Name }
		if !slices.ContainsFunc(w.ResourceClaims, has) {
			c.add(at.Child("resources", "claims").Index(i).Child("name"), field.ErrorTypeNotFound, used[i].Name,
				"the pod has no such ResourceClaim", "add it to "+at.Child("resourceClaims").String()+", or remove it")
		}
	}
}

func (c *check) podAffinity(a corev1.PodAffinity, at *field.Path) {
	for i := range a.RequiredDuringSchedulingIgnoredDuringExecution {
		t := &a.RequiredDuringSchedulingIgnoredDuringExecution[i]
		c.matchLabelKeys(t.MatchLabelKeys, t.LabelSelector,
			at.Child("requiredDuringSchedulingIgnoredDuringExecution").Index(i))
	}
	for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		t := &a.PreferredDuringSchedulingIgnoredDuringExecution[i].PodAffinityTerm
		c.matchLabelKeys(t.MatchLabelKeys, t.LabelSelector,
			at.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i).Child("podAffinityTerm"))
	}
}

// matchLabelKeys checks that labelSelector exists and does not contain any of the keys. The API server accepts such a
// Deployment but rejects its pods.
func (c *check) matchLabelKeys(keys []string, selector *metav1.LabelSelector, at *field.Path) {
	at, labelSelector := at.Child("matchLabelKeys"), at.Child("labelSelector")
	if len(keys) > 0 && selector == nil {
		c.invalid(at, keys[0], "works only with labelSelector", "add "+labelSelector.String()+", or remove it")
		return
	}
	for i, key := range keys {
		_, named := selector.MatchLabels[key]
		has := func(r metav1.LabelSelectorRequirement) bool { return r.Key == key }
		if named || slices.ContainsFunc(selector.MatchExpressions, has) {
			c.invalid(at.Index(i), key, "is also a label of "+labelSelector.String(), "remove it from one of them")
		}
	}
}

// ReservedPodLabels returns the pod labels that the operator sets.
func ReservedPodLabels() []string {
	return []string{
		"app", "app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "app.kubernetes.io/name",
		"app.kubernetes.io/part-of",
	}
}

const reservedAnnotations = "llamastack.io/"

// podMetadata reports labels and annotations reserved for the operator.
func (c *check) podMetadata(m v1alpha2.PodMetadataSpec, at *field.Path) {
	for _, key := range slices.Sorted(maps.Keys(m.Labels)) {
		if slices.Contains(ReservedPodLabels(), key) {
			c.reserved(at.Child("labels").Key(key), "the label "+key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.Annotations)) {
		if strings.HasPrefix(key, reservedAnnotations) {
			c.reserved(at.Child("annotations").Key(key), "the annotation "+key)
		}
	}
}

func (r *report) reserved(at *field.Path, subject string) {
	r.problems.Add(problem.Problem{
		Reason: problem.ConflictingFields, Path: at.String(), Type: field.ErrorTypeForbidden,
		Detail: subject + " is reserved for the operator", Fix: "choose another one, or remove it",
	})
}
