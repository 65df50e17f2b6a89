// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// Messages contain no arbitrary value of the spec, which may be a key in the wrong field. They contain only values that
// are known names or similar to one.

// decode parses open JSON within the limits, and keeps integers as integers.
func decode(raw []byte, path *field.Path) (any, problem.List) {
	bounds := limits.Limits{Bytes: len(raw), Levels: limits.OpenFieldLevels, Nodes: limits.OpenFieldNodes}
	if _, excess := limits.Scan(raw, bounds); excess != nil {
		return nil, problem.List{tooLarge(path, excess)}
	}
	var v any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &v); err != nil {
		return nil, problem.List{invalid(path, "is not JSON", "write JSON or YAML")}
	}
	return v, nil
}

// newProblem fills in the properties of the problem's reason.
func newProblem(p problem.Problem) problem.Problem { return *problem.New(p) }

// invalid returns the problem of an invalid value, without the value.
func invalid(path *field.Path, detail, fix string) problem.Problem {
	return newProblem(problem.Problem{Reason: problem.InvalidField, Path: path.String(), Type: field.ErrorTypeInvalid,
		Detail: detail, Fix: fix})
}

// wrongType returns the problem of a value of the wrong type, without the value.
func wrongType(path *field.Path, expected, fix string) problem.Problem {
	return newProblem(problem.Problem{
		Reason: problem.InvalidField, Path: path.String(), Type: field.ErrorTypeTypeInvalid, Detail: "must be " + expected,
		Fix: fix,
	})
}

// missing returns the problem of an absent required field.
func missing(path *field.Path, detail, fix string) problem.Problem {
	return newProblem(problem.Problem{Reason: problem.MissingField, Path: path.String(), Type: field.ErrorTypeRequired,
		Detail: detail, Fix: fix})
}

// conflicting returns the problem of a field that repeats another one.
func conflicting(path *field.Path, detail string) problem.Problem {
	return newProblem(problem.Problem{
		Reason: problem.ConflictingFields, Path: path.String(), Type: field.ErrorTypeForbidden, Detail: detail, Fix: "keep " +
			"one of them",
	})
}

// unknownField returns the problem of an unknown key, with the most similar known one.
func unknownField(path *field.Path, key string, known []string, more string) problem.Problem {
	fix := "known fields: " + strings.Join(known, ", ") + more
	if near, ok := problem.Nearest(key, known); ok {
		fix = fmt.Sprintf("did you mean %q?", near)
	}
	return newProblem(problem.Problem{
		Reason: problem.UnknownField, Path: path.Child(key).String(), Type: field.ErrorTypeInvalid, Detail: "unknown field",
		Fix: fix,
	})
}

// object is a JSON object during parsing: each get method removes its key, and the remaining keys are unknown.
type object struct {
	path     *field.Path
	values   map[string]any
	problems problem.List
}

func newObject(path *field.Path, values map[string]any) *object {
	// null means absent, as everywhere in Kubernetes.
	values = maps.Clone(values)
	maps.DeleteFunc(values, func(_ string, v any) bool { return v == nil })
	return &object{path: path, values: values}
}

func (o *object) take(key string) (any, bool) {
	v, ok := o.values[key]
	delete(o.values, key)
	return v, ok
}

func (o *object) report(problems ...problem.Problem) { o.problems = append(o.problems, problems...) }

func (o *object) getString(key string) string {
	v, ok := o.take(key)
	if !ok {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		o.report(wrongType(o.path.Child(key), "a string", quoteFix(v)))
	}
	return s
}

// quoteFix returns the fix for an unquoted string that YAML parsed as boolean or number, such as y and 1.5, or "".
func quoteFix(v any) string {
	switch v.(type) {
	case bool, int64, float64:
		return "put the value in quotes"
	}
	return ""
}

func (o *object) getRequiredString(key, example string) string {
	if v, ok := o.values[key]; !ok || v == "" {
		delete(o.values, key)
		o.report(missing(o.path.Child(key), "", "for example "+key+": "+example))
		return ""
	}
	return o.getString(key)
}

func (o *object) getPositiveInt(key string) *int64 {
	v, ok := o.take(key)
	if !ok {
		return nil
	}
	n, ok := v.(int64)
	if !ok || n < 1 {
		o.report(wrongType(o.path.Child(key), "a positive integer", ""))
		return nil
	}
	return &n
}

func (o *object) getMap(key string) map[string]any {
	v, ok := o.take(key)
	if !ok {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		o.report(wrongType(o.path.Child(key), "an object", ""))
	}
	return m
}

// remaining returns the remaining keys, sorted.
func (o *object) remaining() []string { return slices.Sorted(maps.Keys(o.values)) }

// rejectUnknown reports each remaining key as unknown.
func (o *object) rejectUnknown(known []string) {
	for _, key := range o.remaining() {
		o.report(unknownField(o.path, key, known, ""))
	}
}
