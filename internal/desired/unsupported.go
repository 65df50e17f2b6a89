// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"regexp"

	"k8s.io/utils/ptr"

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
				Message: path + ": is not supported by this operator yet: remove it",
			})
		}
	}
	if n := spec.Networking; n != nil {
		add(n.TLS != nil && ptr.Deref(n.TLS.Enabled, false), "spec.networking.tls.enabled")
		_, errs := v1alpha2.ParseExpose(n.Expose)
		for _, err := range errs {
			faults = append(faults, &fault.Fault{
				Class: fault.Wrong, Condition: v1alpha2.ConditionConfigGenerated, Reason: v1alpha2.ReasonInvalidSpec, Message: err.Error(),
			})
		}
	}
	return faults
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
