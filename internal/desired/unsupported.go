// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// unsupported reports the fields that the API admits and this operator does not build yet. They are never ignored:
// who asks for TLS must not get a server without it. Fields of the configuration are reported by the engine.
func (r *report) unsupported(spec *v1alpha2.LlamaStackDistributionSpec) {
	n := spec.Networking
	if n == nil {
		return
	}
	if n.TLS != nil && ptr.Deref(n.TLS.Enabled, false) {
		r.Add(problem.Problem{
			Reason: problem.UnsupportedByOperator, Path: "spec.networking.tls.enabled", Type: field.ErrorTypeForbidden,
			Detail: "this operator does not support it yet", Fix: "remove it",
		})
	}
}

// namePattern is what the names of Services, which derive from the resource's name, may look like.
var namePattern = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// maxNameLength leaves room for the suffixes of derived names, in characters.
const maxNameLength = 55

// checkName repeats what the API server checks for new resources.
func (r *report) checkName(name string) {
	if len(name) <= maxNameLength && namePattern.MatchString(name) {
		return
	}
	r.Add(problem.Problem{
		Reason: problem.InvalidName, Path: "metadata.name", Type: field.ErrorTypeInvalid, Value: name, Detail: "a Service is named after it",
		Fix: fmt.Sprintf("use at most %d lower-case letters, digits and '-', beginning with a letter", maxNameLength),
	})
}
