// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// namePattern matches valid Service names, which derive from the resource's name.
var namePattern = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// maxNameLength leaves room for suffixes of derived names, in characters.
const maxNameLength = 55

// checkName repeats the API server's check of new resources.
func (r *report) checkName(name string) {
	if len(name) <= maxNameLength && namePattern.MatchString(name) {
		return
	}
	r.Add(problem.Problem{
		Reason: problem.InvalidField, Path: "metadata.name", Type: field.ErrorTypeInvalid, Value: name, Detail: "a Service " +
			"is named after it",
		Fix: fmt.Sprintf("use at most %d lower-case letters, digits and '-', beginning with a letter", maxNameLength),
	})
}
