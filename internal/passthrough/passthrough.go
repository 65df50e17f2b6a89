// SPDX-License-Identifier: Apache-2.0

package passthrough

import (
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// Check reports what Kubernetes would refuse of the spec. volumes are the names of the volumes that the operator makes, which the user may mount, too.
func Check(spec *v1alpha2.LlamaStackDistributionSpec, volumes []string) problem.List {
	c := &check{volumesOfOperator: volumes}
	root := field.NewPath("spec")
	if o := spec.OverrideConfig; o != nil {
		c.name(root.Child("overrideConfig", "configMapName"), o.ConfigMapName, "ConfigMap")
	}
	if n := spec.Networking; n != nil && n.TLS != nil && n.TLS.CABundle != nil {
		c.name(root.Child("networking", "tls", "caBundle", "configMapName"), n.TLS.CABundle.ConfigMapName, "ConfigMap")
	}
	if w := spec.Workload; w != nil {
		c.workload(w, root.Child("workload"))
	}
	return c.problems.List()
}

// check collects problems.
type check struct {
	volumesOfOperator []string

	problems problem.Collector
}

func (c *check) workload(w *v1alpha2.WorkloadSpec, at *field.Path) {
	if w.Resources != nil {
		c.resources(w.Resources, at.Child("resources"))
	}
	if b := w.PodDisruptionBudget; b != nil {
		c.podCount(b.MinAvailable, at.Child("podDisruptionBudget", "minAvailable"))
		c.podCount(b.MaxUnavailable, at.Child("podDisruptionBudget", "maxUnavailable"))
	}
	c.spread(w.TopologySpreadConstraints, at.Child("topologySpreadConstraints"))
	c.pod(w, at)
	c.usedClaims(w, at)
	o := w.Overrides
	if o == nil {
		return
	}
	at = at.Child("overrides")
	if o.ServiceAccountName != nil && *o.ServiceAccountName != "" {
		c.name(at.Child("serviceAccountName"), *o.ServiceAccountName, "ServiceAccount")
	}
	c.environment(o.Env, at.Child("env"))
	c.environmentFrom(o.EnvFrom, at.Child("envFrom"))
	c.volumes(o.Volumes, at.Child("volumes"))
	c.mounts(o, at.Child("volumeMounts"))
}

func (c *check) invalid(at *field.Path, value any, detail, fix string) {
	c.add(at, field.ErrorTypeInvalid, value, detail, fix)
}

func (c *check) missing(at *field.Path, fix string) {
	c.problems.Add(problem.Problem{Reason: problem.MissingField, Path: at.String(), Type: field.ErrorTypeRequired, Fix: fix})
}

func (c *check) add(at *field.Path, kind field.ErrorType, value any, detail, fix string) {
	c.problems.Add(problem.Problem{Reason: problem.InvalidField, Path: at.String(), Type: kind, Value: value, Detail: detail, Fix: fix})
}

func (c *check) conflict(at *field.Path, detail string) {
	c.problems.Add(problem.Problem{
		Reason: problem.ConflictingFields, Path: at.String(), Type: field.ErrorTypeForbidden, Detail: detail, Fix: "keep one of them",
	})
}

// name checks the name of an object.
func (c *check) name(at *field.Path, name, kind string) {
	if name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		c.invalid(at, name, "no "+kind+" can have this name", "use lower-case letters, digits, '-' and '.'")
	}
}

// requiredName checks the name of an object that must be given.
func (c *check) requiredName(at *field.Path, name, kind string) {
	if name == "" {
		c.missing(at, "give the name of the "+kind)
		return
	}
	c.name(at, name, kind)
}

// labelKey checks the key of a label.
func (c *check) labelKey(at *field.Path, key string) {
	if len(validation.IsQualifiedName(key)) > 0 {
		c.invalid(at, key, "no label can have this key", "write one such as team or example.com/team")
	}
}
