// SPDX-License-Identifier: Apache-2.0

package desired

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
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// checkPodSpec reports the fields of the pods that the API server would refuse, or that would take away what the operator needs.
func (r *report) checkPodSpec(cr *v1alpha2.LlamaStackDistribution) {
	w := cr.Spec.Workload
	if w == nil {
		return
	}
	r.checkClaims(w)
	r.checkPodMetadata(cr)
	r.checkEnvFrom(w.Overrides)
	for i := range w.ImagePullSecrets {
		r.checkObjectName(fmt.Sprintf("spec.workload.imagePullSecrets[%d].name", i), w.ImagePullSecrets[i].Name, "a Secret")
	}
	if seconds := w.TerminationGracePeriodSeconds; seconds != nil && *seconds < 0 {
		r.invalidField("spec.workload.terminationGracePeriodSeconds", *seconds, "must not be negative", "remove it for Kubernetes' default of 30")
	}
	s := ptr.Deref(w.Scheduling, v1alpha2.SchedulingSpec{})
	r.checkLabels("spec.workload.scheduling.nodeSelector", s.NodeSelector)
	if name := ptr.Deref(s.PriorityClassName, ""); name != "" {
		r.checkObjectName("spec.workload.scheduling.priorityClassName", name, "a PriorityClass")
	}
	if name := ptr.Deref(s.RuntimeClassName, ""); name != "" {
		r.checkObjectName("spec.workload.scheduling.runtimeClassName", name, "a RuntimeClass")
	}
}

func (r *report) checkObjectName(path, name, kind string) {
	if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 {
		r.invalidField(path, name, "is not the name of "+kind+": "+errs[0], "")
	}
}

// checkClaims reports devices that the server uses and the pod has no ResourceClaim for: the API server would refuse the pod, not the Deployment.
func (r *report) checkClaims(w *v1alpha2.WorkloadSpec) {
	const base = "spec.workload.resourceClaims"
	var names []string
	for i := range w.ResourceClaims {
		c, path := &w.ResourceClaims[i], fmt.Sprintf("%s[%d]", base, i)
		if errs := validation.IsDNS1123Label(c.Name); len(errs) > 0 {
			r.invalidField(path+".name", c.Name, errs[0], "")
		}
		if slices.Contains(names, c.Name) {
			r.Add(problem.Problem{
				Reason: problem.ConflictingFields, Path: path + ".name", Type: field.ErrorTypeDuplicate, Value: c.Name,
				Detail: "each ResourceClaim needs a name of its own",
				Fix:    "keep one of them",
			})
		}
		if (c.ResourceClaimName == nil) == (c.ResourceClaimTemplateName == nil) {
			r.invalidField(path, c.Name, "needs exactly one of resourceClaimName and resourceClaimTemplateName", "")
		}
		names = append(names, c.Name)
	}
	used := ptr.Deref(w.Resources, corev1.ResourceRequirements{}).Claims
	for i := range used {
		if !slices.Contains(names, used[i].Name) {
			r.Add(problem.Problem{
				Reason: problem.InvalidField, Path: fmt.Sprintf("spec.workload.resources.claims[%d].name", i), Type: field.ErrorTypeNotFound, Value: used[i].Name,
				Detail: "the pod has no such ResourceClaim", Fix: "add it to " + base + ", or remove it",
			})
		}
	}
}

// checkPodMetadata reports labels and annotations that Kubernetes would refuse, and those that are the operator's own.
func (r *report) checkPodMetadata(cr *v1alpha2.LlamaStackDistribution) {
	const base = "spec.workload.podMetadata"
	m := ptr.Deref(cr.Spec.Workload.PodMetadata, v1alpha2.PodMetadataSpec{})
	r.checkLabels(base+".labels", m.Labels)
	reserved := objects.ReservedPodLabels(cr.Name)
	for _, key := range slices.Sorted(maps.Keys(m.Labels)) {
		if _, own := reserved[key]; own {
			r.reserved(base+".labels["+key+"]", "the label "+key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.Annotations)) {
		path := base + ".annotations[" + key + "]"
		if errs := validation.IsQualifiedName(strings.ToLower(key)); len(errs) > 0 {
			r.invalidField(path, key, errs[0], "")
		}
		if strings.HasPrefix(key, "llamastack.io/") {
			r.reserved(path, "the annotation "+key)
		}
	}
}

func (r *report) reserved(path, what string) {
	r.Add(problem.Problem{
		Reason: problem.ConflictingFields, Path: path, Type: field.ErrorTypeForbidden, Detail: what + " is the operator's own",
		Fix: "choose another one, or remove it",
	})
}

func (r *report) checkLabels(path string, labels map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if errs := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(labels[key])...); len(errs) > 0 {
			r.invalidField(path+"["+key+"]", labels[key], errs[0], "")
		}
	}
}

// checkEnvFrom reports sources that Kubernetes would refuse.
func (r *report) checkEnvFrom(o *v1alpha2.WorkloadOverrides) {
	if o == nil {
		return
	}
	for i := range o.EnvFrom {
		from, path := &o.EnvFrom[i], fmt.Sprintf("spec.workload.overrides.envFrom[%d]", i)
		if (from.SecretRef == nil) == (from.ConfigMapRef == nil) {
			r.invalidField(path, from.Prefix, "needs exactly one of secretRef and configMapRef", "")
			continue
		}
		if from.SecretRef != nil {
			r.checkObjectName(path+".secretRef.name", from.SecretRef.Name, "a Secret")
		} else {
			r.checkObjectName(path+".configMapRef.name", from.ConfigMapRef.Name, "a ConfigMap")
		}
	}
}
