// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// Check returns the values of the spec that Kubernetes would reject. volumes are the names of the operator's own
// volumes, which users may mount.
func Check(spec *v1alpha2.LlamaStackDistributionSpec, volumes []string) problem.List {
	c := &check{operatorVolumes: volumes}
	root := field.NewPath("spec")
	if o := spec.OverrideConfig; o != nil {
		c.name(root.Child("overrideConfig", "configMapName"), o.ConfigMapName, "ConfigMap")
	}
	if n := spec.Networking; n != nil && n.TLS != nil {
		c.tls(n.TLS, root.Child("networking", "tls"))
	}
	if w := spec.Workload; w != nil {
		c.workload(w, root.Child("workload"))
	}
	return c.problems.List()
}

// check collects the problems of a spec.
type check struct {
	report

	// volumes are the sorted names of the user's volumes, operatorVolumes those of the operator's.
	volumes, operatorVolumes []string
}

type report struct {
	problems problem.Collector
}

func (c *check) tls(tls *v1alpha2.TLSSpec, at *field.Path) {
	if ptr.Deref(tls.Enabled, false) {
		c.name(at.Child("secretName"), ptr.Deref(tls.SecretName, ""), "Secret")
	}
	if tls.CABundle != nil {
		c.name(at.Child("caBundle", "configMapName"), tls.CABundle.ConfigMapName, "ConfigMap")
	}
	for i := range tls.CABundles {
		bundle, at := &tls.CABundles[i], at.Child("caBundles").Index(i)
		c.name(at.Child("configMapName"), bundle.ConfigMapName, "ConfigMap")
		for j, key := range bundle.Keys {
			if len(validation.IsConfigMapKey(key)) > 0 {
				c.invalid(at.Child("keys").Index(j), key, "is not a valid key of a ConfigMap",
					"use letters, digits, '-', '_' and '.'")
			}
		}
	}
}

func (c *check) workload(w *v1alpha2.WorkloadSpec, at *field.Path) {
	if w.Resources != nil {
		c.resources(w.Resources, at.Child("resources"))
	}
	c.pod(w, at)
	c.usedClaims(w, at)
	for i := range w.TopologySpreadConstraints {
		s := &w.TopologySpreadConstraints[i]
		c.matchLabelKeys(s.MatchLabelKeys, s.LabelSelector, at.Child("topologySpreadConstraints").Index(i))
	}
	o := w.Overrides
	if o == nil {
		return
	}
	at = at.Child("overrides")
	if o.ServiceAccountName != nil {
		c.name(at.Child("serviceAccountName"), *o.ServiceAccountName, "ServiceAccount")
	}
	for i := range o.Volumes {
		c.volumes = append(c.volumes, o.Volumes[i].Name)
	}
	slices.Sort(c.volumes)
	c.volumes = slices.Compact(c.volumes)
	c.environment(o.Env, at.Child("env"))
	c.environmentFrom(o.EnvFrom, at.Child("envFrom"))
	c.sources(o.Volumes, at.Child("volumes"))
	c.mounts(o.VolumeMounts, at.Child("volumeMounts"))
}

func (r *report) invalid(at *field.Path, value any, detail, fix string) {
	r.add(at, field.ErrorTypeInvalid, value, detail, fix)
}

func (r *report) missing(at *field.Path, fix string) {
	r.problems.Add(problem.Problem{Reason: problem.MissingField, Path: at.String(), Type: field.ErrorTypeRequired,
		Fix: fix})
}

func (r *report) add(at *field.Path, kind field.ErrorType, value any, detail, fix string) {
	r.problems.Add(problem.Problem{Reason: problem.InvalidField, Path: at.String(), Type: kind, Value: value,
		Detail: detail, Fix: fix})
}

func (r *report) name(at *field.Path, name, kind string) {
	if name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		r.invalid(at, name, "is not a valid name of a "+kind, "use lower-case letters, digits, '-' and '.'")
	}
}

func (r *report) requiredName(at *field.Path, name, kind string) {
	if name == "" {
		r.missing(at, "set the name of the "+kind)
		return
	}
	r.name(at, name, kind)
}
