// SPDX-License-Identifier: Apache-2.0

package release

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// InvalidBase returns the problem of a base that the server's loader refuses; as a warning, a newer server may accept
// it.
func InvalidBase(severity problem.Severity, server, path, detail, fix string) problem.Problem {
	if severity == problem.Warning {
		fix += ", unless server release " + server + ", which is unknown to this operator, accepts it"
	}
	return problem.Problem{Reason: problem.InvalidBaseConfig, Severity: severity, Path: path,
		Type: field.ErrorTypeInvalid, Detail: detail, Fix: fix}
}
