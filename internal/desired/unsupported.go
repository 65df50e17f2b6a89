// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// refuseExternal refuses external providers as long as the pod does not get their packages: the server would not start.
func (r *report) refuseExternal(in *Inputs) {
	if len(in.Spec.External) > 0 {
		r.Add(problem.Problem{
			Reason: problem.UnsupportedByOperator, Path: "spec.externalProviders", Type: field.ErrorTypeForbidden,
			Detail: "this operator does not support it yet", Fix: "remove it, or use an image that contains the provider",
		})
	}
}
