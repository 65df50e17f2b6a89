// SPDX-License-Identifier: Apache-2.0

package passthrough

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// CheckPodDefaults reports what Kubernetes would refuse of fields that concern the pods, and that the operator's settings have for all custom resources.
func CheckPodDefaults(w *v1alpha2.WorkloadSpec, at *field.Path) problem.List {
	c := &check{}
	c.pod(w, at)
	if w.Overrides != nil {
		c.environmentFrom(w.Overrides.EnvFrom, at.Child("overrides", "envFrom"))
	}
	return c.problems.List()
}

// pod checks the fields about nodes, registries, devices and metadata.
func (c *check) pod(w *v1alpha2.WorkloadSpec, at *field.Path) {
	c.resourceClaims(w.ResourceClaims, at.Child("resourceClaims"))
	c.podMetadata(ptr.Deref(w.PodMetadata, v1alpha2.PodMetadataSpec{}), at.Child("podMetadata"))
	for i := range w.ImagePullSecrets {
		c.requiredName(at.Child("imagePullSecrets").Index(i).Child("name"), w.ImagePullSecrets[i].Name, "Secret")
	}
	if seconds := w.TerminationGracePeriodSeconds; seconds != nil && *seconds < 0 {
		c.invalid(at.Child("terminationGracePeriodSeconds"), *seconds, "must not be negative", "remove it for Kubernetes' default of 30")
	}
	s, at := ptr.Deref(w.Scheduling, v1alpha2.SchedulingSpec{}), at.Child("scheduling")
	c.labels(s.NodeSelector, at.Child("nodeSelector"))
	c.name(at.Child("priorityClassName"), ptr.Deref(s.PriorityClassName, ""), "PriorityClass")
	c.name(at.Child("runtimeClassName"), ptr.Deref(s.RuntimeClassName, ""), "RuntimeClass")
}

// resourceClaims checks the devices that the pods ask for.
func (c *check) resourceClaims(list []corev1.PodResourceClaim, at *field.Path) {
	seen := map[string]bool{}
	for i := range list {
		r, at := &list[i], at.Index(i)
		if len(validation.IsDNS1123Label(r.Name)) > 0 {
			c.invalid(at.Child("name"), r.Name, "no ResourceClaim of a pod can have this name", "use at most 63 lower-case letters, digits and '-'")
		}
		if seen[r.Name] {
			c.add(at.Child("name"), field.ErrorTypeDuplicate, r.Name, "", "give each ResourceClaim a name of its own")
		}
		seen[r.Name] = true
		if (r.ResourceClaimName == nil) == (r.ResourceClaimTemplateName == nil) {
			c.invalid(at, r.Name, "needs exactly one of resourceClaimName and resourceClaimTemplateName", "")
		}
		c.name(at.Child("resourceClaimName"), ptr.Deref(r.ResourceClaimName, ""), "ResourceClaim")
		c.name(at.Child("resourceClaimTemplateName"), ptr.Deref(r.ResourceClaimTemplateName, ""), "ResourceClaimTemplate")
	}
}

// usedClaims reports devices that the server uses and the pod has no ResourceClaim for: the API server would refuse the pod, not the Deployment.
func (c *check) usedClaims(w *v1alpha2.WorkloadSpec, at *field.Path) {
	used := ptr.Deref(w.Resources, corev1.ResourceRequirements{}).Claims
	for i := range used {
		has := func(r corev1.PodResourceClaim) bool { return r.Name == used[i].Name }
		if !slices.ContainsFunc(w.ResourceClaims, has) {
			c.add(at.Child("resources", "claims").Index(i).Child("name"), field.ErrorTypeNotFound, used[i].Name, "the pod has no such ResourceClaim",
				"add it to "+at.Child("resourceClaims").String()+", or remove it")
		}
	}
}

// ReservedPodLabels are the labels of pods that the operator itself sets.
func ReservedPodLabels() []string {
	return []string{"app", "app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "app.kubernetes.io/name", "app.kubernetes.io/part-of"}
}

// maxAnnotations bounds the annotations of an object, in bytes.
const maxAnnotations = 256 << 10

// reservedAnnotations is the prefix of the operator's own annotations.
const reservedAnnotations = "llamastack.io/"

// podMetadata reports labels and annotations that Kubernetes would refuse, and those that are the operator's own.
func (c *check) podMetadata(m v1alpha2.PodMetadataSpec, at *field.Path) {
	c.labels(m.Labels, at.Child("labels"))
	for _, key := range slices.Sorted(maps.Keys(m.Labels)) {
		if slices.Contains(ReservedPodLabels(), key) {
			c.reserved(at.Child("labels").Key(key), "the label "+key)
		}
	}
	size := 0
	for key, value := range m.Annotations {
		size += len(key) + len(value)
	}
	if size > maxAnnotations {
		c.problems.Add(problem.Problem{
			Reason: problem.TooLarge, Path: at.Child("annotations").String(), Type: field.ErrorTypeTooLong, Value: size,
			Detail: fmt.Sprintf("keys and values may have at most %d bytes together", maxAnnotations), Fix: "keep the content in a ConfigMap",
		})
	}
	for _, key := range slices.Sorted(maps.Keys(m.Annotations)) {
		at := at.Child("annotations").Key(key)
		if len(validation.IsQualifiedName(strings.ToLower(key))) > 0 {
			c.invalid(at, key, "no annotation can have this key", "write one such as team or example.com/team")
		}
		if strings.HasPrefix(key, reservedAnnotations) {
			c.reserved(at, "the annotation "+key)
		}
	}
}

func (r *report) reserved(at *field.Path, what string) {
	r.problems.Add(problem.Problem{
		Reason: problem.ConflictingFields, Path: at.String(), Type: field.ErrorTypeForbidden, Detail: what + " is the operator's own",
		Fix: "choose another one, or remove it",
	})
}

// labels checks keys and values of labels.
func (r *report) labels(labels map[string]string, at *field.Path) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		r.labelKey(at.Key(key), key)
		if problems := validation.IsValidLabelValue(labels[key]); len(problems) > 0 {
			r.invalid(at.Key(key), labels[key], "no label can have this value", "use at most 63 letters, digits, '-', '_' and '.'")
		}
	}
}

// environmentFrom checks the objects of which each key becomes a variable.
func (c *check) environmentFrom(list []corev1.EnvFromSource, at *field.Path) {
	for i := range list {
		from, at := &list[i], at.Index(i)
		if from.Prefix != "" && len(validation.IsRelaxedEnvVarName(from.Prefix)) > 0 {
			c.invalid(at.Child("prefix"), from.Prefix, "no environment variable can begin with it", "use letters, digits and '_'")
		}
		switch {
		case (from.SecretRef == nil) == (from.ConfigMapRef == nil):
			c.invalid(at, from.Prefix, "needs exactly one of secretRef and configMapRef", "")
		case from.SecretRef != nil:
			c.requiredName(at.Child("secretRef", "name"), from.SecretRef.Name, "Secret")
		default:
			c.requiredName(at.Child("configMapRef", "name"), from.ConfigMapRef.Name, "ConfigMap")
		}
	}
}
