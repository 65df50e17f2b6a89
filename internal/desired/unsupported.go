// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"regexp"

	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/fault"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
)

// unsupported reports the fields that the API admits and this operator does not build yet. They are never ignored:
// whoever asks for TLS must not get a server without it. Fields of the configuration are reported by the engine.
func unsupported(spec *v1alpha2.LlamaStackDistributionSpec) fault.List {
	var faults fault.List
	add := func(set bool, path string) {
		if set {
			faults = append(faults, &fault.Fault{
				Class: fault.Wrong, Condition: v1alpha2.ConditionConfigGenerated, Reason: v1alpha2.ReasonUnsupported,
				Message: path + ": is not supported by this operator yet: remove it",
			})
		}
	}
	if n := spec.Networking; n != nil {
		add(n.TLS != nil && ptr.Deref(n.TLS.Enabled, false), "spec.networking.tls.enabled")
		expose, errs := v1alpha2.ParseExpose(n.Expose)
		for _, err := range errs {
			faults = append(faults, &fault.Fault{
				Class: fault.Wrong, Condition: v1alpha2.ConditionConfigGenerated, Reason: v1alpha2.ReasonInvalidSpec, Message: err.Error(),
			})
		}
		add(expose.Enabled, "spec.networking.expose")
		add(n.AllowedFrom != nil && (len(n.AllowedFrom.Namespaces) > 0 || len(n.AllowedFrom.Labels) > 0), "spec.networking.allowedFrom")
	}
	if w := spec.Workload; w != nil {
		add(w.Autoscaling != nil && *w.Autoscaling != v1alpha2.AutoscalingSpec{}, "spec.workload.autoscaling")
		add(w.Storage != nil, "spec.workload.storage")
		add(w.PodDisruptionBudget != nil, "spec.workload.podDisruptionBudget")
		add(len(w.TopologySpreadConstraints) > 0, "spec.workload.topologySpreadConstraints")
		add(hasOverrides(w.Overrides), "spec.workload.overrides")
	}
	return faults
}

// ineffective warns of what is set and does nothing.
func ineffective(spec *v1alpha2.LlamaStackDistributionSpec) config.Findings {
	if n := spec.Networking; n != nil && n.TLS != nil && ptr.Deref(n.TLS.SecretName, "") != "" && !ptr.Deref(n.TLS.Enabled, false) {
		return config.Findings{{
			Code: config.InvalidSpec, Severity: config.Warning, Path: "spec.networking.tls.secretName",
			Message: "has no effect while TLS is not enabled", Mending: "set spec.networking.tls.enabled: true, or remove it",
		}}
	}
	return nil
}

// namePattern is what the names of Services, which derive from the resource's name, may look like.
var namePattern = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// maxNameLength leaves room for the suffixes of derived names, in characters.
const maxNameLength = 55

// checkName repeats what the API server checks for new resources.
func checkName(name string) fault.List {
	if len(name) <= maxNameLength && namePattern.MatchString(name) {
		return nil
	}
	return fault.List{{
		Class: fault.Wrong, Condition: v1alpha2.ConditionConfigGenerated, Reason: v1alpha2.ReasonInvalidSpec,
		Message: fmt.Sprintf("metadata.name: Invalid value: a Service is named after it: "+
			"use at most %d lower-case letters, digits and '-', beginning with a letter", maxNameLength),
	}}
}

func hasOverrides(o *v1alpha2.WorkloadOverrides) bool {
	return o != nil && (o.ServiceAccountName != nil && *o.ServiceAccountName != "" || len(o.Env) > 0 || len(o.Command) > 0 ||
		len(o.Args) > 0 || len(o.Volumes) > 0 || len(o.VolumeMounts) > 0)
}
