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
	if len(raw) == 0 || string(raw) == "null" {
		r.invalid(at, nil, "is null", "remove it, or write an object")
		return value, r.problems.List()
	}
	strict, err := kjson.UnmarshalStrict(raw, &value)
	if err != nil {
		detail, fix := wrongType(err)
		r.invalid(at, nil, "has a value of the wrong type: "+detail, fix)
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

// typeError matches the error of a JSON value that does not fit the field of a Go type.
var typeError = regexp.MustCompile(
	`^json: cannot unmarshal (\w+).* into Go (?:struct field [^.]+\.(\S+)|value) of type (\S+)$`)

// wrongType says which value has another type than its field, and how to fix it.
func wrongType(err error) (detail, fix string) {
	found := typeError.FindStringSubmatch(err.Error())
	if found == nil {
		return strings.TrimPrefix(err.Error(), "json: "), "write it as in Kubernetes"
	}
	is, at, wants := typeName(found[1]), found[2], typeName(found[3])
	if fix = "correct it"; wants == typeName("string") && (is == typeName("number") || is == typeName("bool")) {
		fix = "quote it"
	}
	if at != "" {
		at += " is "
	}
	return at + is + " in place of " + wants, fix
}

// typeName returns the name that users know for a type of JSON or Go.
func typeName(name string) string {
	switch {
	case name == "string", name == "number":
		return "a " + name
	case name == "bool":
		return "a boolean"
	case name == "array", strings.HasPrefix(name, "[]"):
		return "a list"
	case strings.HasPrefix(name, "int"):
		return "an integer"
	}
	return "an object"
}
