// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// Decode decodes a value whose schema is open into its type of Kubernetes, and reports unknown fields and wrong types.
func Decode[T any](raw []byte, at *field.Path) (T, problem.List) {
	var value T
	r := &report{}
	strict, err := kjson.UnmarshalStrict(raw, &value)
	if err != nil {
		r.invalid(at, nil, "has a value of the wrong type: "+strings.TrimPrefix(err.Error(), "json: "),
			"write it as in Kubernetes")
	}
	for _, e := range strict {
		path, kind := at, e.Error()
		if found := strictError.FindStringSubmatch(kind); found != nil {
			kind, path = found[1], field.NewPath(at.String()+"."+found[2])
		}
		r.problems.Add(problem.Problem{
			Reason: problem.UnknownField, Path: path.String(), Type: field.ErrorTypeInvalid, Detail: kind,
			Fix: "correct or remove it",
		})
	}
	return value, r.problems.List()
}

var strictError = regexp.MustCompile(`^(unknown field|duplicate field) "(.+)"$`)
