// SPDX-License-Identifier: Apache-2.0

package problem

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// Class is what has to happen before the operator can continue.
type Class string

// The classes.
const (
	// Terminal: only an edit helps.
	Terminal Class = "Terminal"
	// WaitingForDependency: an object that is referred to does not exist yet, or has not what is needed; the operator
	// watches it.
	WaitingForDependency Class = "WaitingForDependency"
	// Transient: a request failed; it is retried with back-off.
	Transient Class = "Transient"
)

// Severity says whether a problem prevents anything.
type Severity string

// The severities.
const (
	// Error prevents the spec from being applied.
	Error Severity = "Error"
	// Warning reports what is probably not intended. It prevents nothing.
	Warning Severity = "Warning"
)

// Reason names one kind of problem in CamelCase. Each has a row in the table of this package.
type Reason string

// Problem is one thing that is wrong. Reason is required; Collector.Add and New fill in Path, Class, Severity and
// Condition where they are empty.
type Problem struct {
	// Class decides how the operator continues. Empty: that of the reason's row.
	Class Class
	// Severity is Error where it is empty.
	Severity Severity
	// Reason is the kind of problem; it becomes the condition's reason.
	Reason Reason
	// Condition is the type of the condition that reports it. Empty: the first of the reason's row.
	Condition string
	// Path is the field of the custom resource, such as "spec.providers.inference[0].endpoint". A place in the server's
	// configuration begins with "config.yaml: ", a key of the operator's settings with "operator settings: ".
	Path string
	// Type is Kubernetes' kind of a field error. It is empty for a warning about a valid value.
	Type field.ErrorType
	// Value is the bad value: a string, number or boolean. It is nil where there is none, and where it may be a secret.
	Value any
	// Detail says what is wrong. It may be empty where Type says it all.
	Detail string
	// Fix says how to fix it.
	Fix string
	// Err is the cause. It is for errors.Is and the log, and holds no more than a message may.
	Err error
}

// wholeSpec is the path of a problem that has none of its own, such as an error of a parser about a whole document.
const wholeSpec = "spec"

// New returns the problem with the properties of its reason where they are empty. A problem without a Path is one of
// the whole spec.
func New(p Problem) *Problem {
	row := rowOf(p.Reason)
	if p.Path == "" {
		p.Path = wholeSpec
	}
	if p.Class == "" {
		p.Class = row.Class
	}
	if p.Severity == "" {
		p.Severity = Error
	}
	if p.Condition == "" {
		p.Condition = row.Conditions[0]
	}
	return &p
}

// FromFieldError returns what a parser or the schema says as a problem; the reason is that of the kind of error.
func FromFieldError(err *field.Error) Problem {
	p := Problem{Reason: InvalidField, Path: err.Field, Type: err.Type, Value: err.BadValue, Detail: err.Detail, Err: err}
	switch err.Type {
	case field.ErrorTypeRequired:
		p.Reason = MissingField
	case field.ErrorTypeNotSupported:
		p.Reason = InvalidField
	case field.ErrorTypeDuplicate:
		p.Reason = ConflictingFields
	case field.ErrorTypeTooMany, field.ErrorTypeTooLong:
		p.Reason = TooLarge
	case field.ErrorTypeInvalid, field.ErrorTypeTypeInvalid, field.ErrorTypeForbidden, field.ErrorTypeNotFound,
		field.ErrorTypeTooFew,
		field.ErrorTypeTooShort, field.ErrorTypeInternal:
	}
	return p
}

// FixedBySpec reports whether an edit of the spec fixes the problem, and not only someone else: the operator's
// administrator, or the owner of another object.
func (p Problem) FixedBySpec() bool { return !rowOf(p.Reason).Elsewhere }

// FixedBySettings reports whether an entry in the operator's settings can fix the problem.
func (p Problem) FixedBySettings() bool { return rowOf(p.Reason).BySettings }

// String returns the whole text: "path: kind of error: value: what is wrong: how to fix it".
func (p Problem) String() string {
	if p.Path == "" {
		return limits.Message(p.Body())
	}
	return limits.Message(p.Path + ": " + p.Body())
}

// Body returns the text without the path.
func (p Problem) Body() string {
	var parts []string
	if p.Type != "" {
		parts = append(parts, (&field.Error{Type: p.Type, BadValue: shown(p.Value)}).ErrorBody())
	}
	for _, part := range []string{p.Detail, p.Fix} {
		switch last := len(parts) - 1; {
		case part == "":
		case last >= 0 && strings.HasSuffix(parts[last], "."): // whole sentences
			parts[last] += " " + part
		default:
			parts = append(parts, part)
		}
	}
	return limits.Message(strings.Join(parts, ": "))
}

// FieldError returns the problem as Kubernetes' own type, for responses of the API. Its text is that of String.
func (p Problem) FieldError() *field.Error {
	kind := p.Type
	if kind == "" {
		kind = field.ErrorTypeInvalid
	}
	rest := p
	rest.Type = ""
	return &field.Error{Type: kind, Field: p.Path, BadValue: shown(p.Value), Detail: rest.Body()}
}

// valueBytes is how much of a bad value is shown.
const valueBytes = 100

// shown is a bad value as a message shows it. An object or a list is not shown: it would hide what is wrong with it.
func shown(value any) any {
	switch v := reflect.ValueOf(value); {
	case v.Kind() == reflect.String:
		return limits.Cut(v.String(), valueBytes)
	case v.Kind() == reflect.Bool, v.CanInt(), v.CanUint(), v.CanFloat():
		return value
	}
	return field.OmitValueType{}
}
