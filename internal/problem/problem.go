// SPDX-License-Identifier: Apache-2.0

package problem

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// Class says what has to happen before the operator can continue.
type Class string

const (
	// Terminal means that only an edit helps.
	Terminal Class = "Terminal"
	// WaitingForDependency means that a referenced object is missing or incomplete; the operator watches it.
	WaitingForDependency Class = "WaitingForDependency"
	// Transient means that a request failed and is retried with back-off.
	Transient Class = "Transient"
)

// Severity says whether a problem blocks the spec.
type Severity string

const (
	// Error prevents the spec from being applied.
	Error Severity = "Error"
	// Warning reports a probable mistake and blocks nothing.
	Warning Severity = "Warning"
)

// Reason is a kind of problem in CamelCase. Each has a row in the table of this package.
type Reason string

// Problem is one error or warning. Reason is required; New fills in an empty Path, Class, Severity and Condition.
type Problem struct {
	// Class is the class; it defaults to that of the reason's row.
	Class Class
	// Severity defaults to Error.
	Severity Severity
	// Reason is the kind of problem, and the condition's reason.
	Reason Reason
	// Condition is the type of the reporting condition; it defaults to the first of the reason's row.
	Condition string
	// Path is the field, such as "spec.providers.inference[0].id", or begins with "config.yaml: " or "operator settings".
	Path string
	// Type is the kind of field error; it is empty for a warning about a valid value.
	Type field.ErrorType
	// Value is the bad value, a string, number or boolean; nil if it may be a secret.
	Value any
	// Detail says what is wrong; it may be empty if Type is clear enough.
	Detail string
	Fix    string
	// Err is the cause, for errors.Is and the log, without Secret values.
	Err error
}

// wholeSpec is the path of a problem that has no path of its own.
const wholeSpec = "spec"

// New returns the problem with empty properties filled in: the whole spec as its path, the others from its reason.
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

// FromFieldError returns a problem for a field error of a parser or the schema, with the reason for its type.
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

// FixedBySpec reports whether an edit of the spec fixes the problem.
func (p Problem) FixedBySpec() bool { return !rowOf(p.Reason).FixedElsewhere }

// FixedBySettings reports whether an entry in the operator's settings can fix the problem.
func (p Problem) FixedBySettings() bool { return rowOf(p.Reason).BySettings }

// String returns the whole text in the form "path: kind of error: value: detail: fix".
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
		parts = append(parts, (&field.Error{Type: p.Type, BadValue: displayValue(p.Value)}).ErrorBody())
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

// FieldError returns the problem as a field.Error with the same text, for responses of the API.
func (p Problem) FieldError() *field.Error {
	kind := p.Type
	if kind == "" {
		kind = field.ErrorTypeInvalid
	}
	rest := p
	rest.Type = ""
	return &field.Error{Type: kind, Field: p.Path, BadValue: displayValue(p.Value), Detail: rest.Body()}
}

// valueBytes is the maximum length of a bad value in a message.
const valueBytes = 100

// displayValue returns a bad value as a message shows it; objects and lists are omitted.
func displayValue(value any) any {
	switch v := reflect.ValueOf(value); {
	case v.Kind() == reflect.String:
		return limits.Cut(v.String(), valueBytes)
	case v.Kind() == reflect.Bool, v.CanInt(), v.CanUint(), v.CanFloat():
		return value
	}
	return field.OmitValueType{}
}
