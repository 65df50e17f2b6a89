// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// ofFinding is a finding of the engine as a problem, until the engine returns problems itself.
func ofFinding(f *config.Finding) problem.Problem {
	p := problem.Problem{
		Reason: problem.Reason(f.Code), Severity: problem.Severity(f.Severity), Path: f.Path, Detail: f.Message, Fix: f.Mending,
	}
	for _, kind := range []field.ErrorType{
		field.ErrorTypeInvalid, field.ErrorTypeRequired, field.ErrorTypeForbidden, field.ErrorTypeDuplicate, field.ErrorTypeNotSupported,
		field.ErrorTypeNotFound, field.ErrorTypeTooMany, field.ErrorTypeTooLong,
	} {
		if rest, found := strings.CutPrefix(p.Detail, kind.String()); found {
			p.Type, p.Detail = kind, strings.TrimPrefix(rest, ": ")
		}
	}
	if p.Type == "" && p.Severity == problem.Error && strings.HasPrefix(p.Path, "spec") {
		p.Type = field.ErrorTypeInvalid
	}
	return p
}
