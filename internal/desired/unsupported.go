// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/fault"
)

// unsupported reports the fields that the API admits and this operator does not build yet. They are never ignored:
// whoever asks for TLS must not get a server without it. Fields of the configuration are reported by the engine.
func unsupported(spec *v1alpha2.LlamaStackDistributionSpec) fault.List {
	var faults fault.List
	add := func(set bool, path string) {
		if set {
			faults = append(faults, &fault.Fault{
				Class: fault.Wrong, Condition: v1alpha2.ConditionConfigGenerated, Reason: v1alpha2.ReasonUnsupported,
				Message: fmt.Sprintf("%s: not supported by this version of the operator yet: remove the field", path),
			})
		}
	}
	if n := spec.Networking; n != nil {
		add(n.TLS != nil && (n.TLS.Enabled != nil && *n.TLS.Enabled || n.TLS.CABundle != nil), "spec.networking.tls")
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
		add(w.Workers != nil, "spec.workload.workers")
		add(w.Autoscaling != nil && *w.Autoscaling != v1alpha2.AutoscalingSpec{}, "spec.workload.autoscaling")
		add(w.Storage != nil, "spec.workload.storage")
		add(w.PodDisruptionBudget != nil, "spec.workload.podDisruptionBudget")
		add(len(w.TopologySpreadConstraints) > 0, "spec.workload.topologySpreadConstraints")
		add(hasOverrides(w.Overrides), "spec.workload.overrides")
	}
	return faults
}

func hasOverrides(o *v1alpha2.WorkloadOverrides) bool {
	return o != nil && (o.ServiceAccountName != nil && *o.ServiceAccountName != "" || len(o.Env) > 0 || len(o.Command) > 0 ||
		len(o.Args) > 0 || len(o.Volumes) > 0 || len(o.VolumeMounts) > 0)
}
