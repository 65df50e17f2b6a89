// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/internal/suggest"
)

// The parsers never put a value of the user's into a message: whoever pastes a key into the wrong field should not
// find it in a condition or an event.

// decode reads open JSON that is not too large. Integers stay integers, so that 8192 does not become 8192.0 on its way.
func decode(raw []byte, path *field.Path) (any, field.ErrorList) {
	limits := bounds.Limits{Bytes: len(raw), Levels: bounds.OpenFieldLevels, Nodes: bounds.OpenFieldNodes}
	if _, excess := bounds.Scan(raw, limits); excess != nil {
		return nil, field.ErrorList{tooLarge(path, excess)}
	}
	var v any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &v); err != nil {
		return nil, field.ErrorList{field.InternalError(path, fmt.Errorf("not JSON: %w", err))}
	}
	return v, nil
}

// wrongType reports a value of the wrong type, without the value.
func wrongType(path *field.Path, want string) *field.Error {
	return &field.Error{
		Type: field.ErrorTypeTypeInvalid, Field: path.String(), BadValue: field.OmitValueType{},
		Detail: "must be " + want,
	}
}

// invalid reports a wrong value, without the value.
func invalid(path *field.Path, detail string) *field.Error {
	return &field.Error{
		Type: field.ErrorTypeInvalid, Field: path.String(), BadValue: field.OmitValueType{}, Detail: detail,
	}
}

// unknownField reports a key that the object does not have, with the nearest one that it has.
func unknownField(path *field.Path, key string, known []string, more string) *field.Error {
	return field.Forbidden(path.Child(key), fmt.Sprintf("unknown field; %sknown fields: %s%s",
		suggest.Sentence(key, known), strings.Join(known, ", "), more))
}

// object is a JSON object while it is being read: each get* call removes a key, what remains at the end is unknown.
//
// +kubebuilder:object:generate=false
type object struct {
	path   *field.Path
	values map[string]any
	errs   field.ErrorList
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

func (o *object) fail(errs ...*field.Error) { o.errs = append(o.errs, errs...) }

func (o *object) getString(key string) string {
	v, ok := o.take(key)
	if !ok {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		o.fail(wrongType(o.path.Child(key), "a string"+quotes(v)))
	}
	return s
}

// quotes tells how to make text of what YAML took for something else: y and 1.5 are no strings.
func quotes(v any) string {
	switch v.(type) {
	case bool, int64, float64:
		return ": put the value in quotes"
	}
	return ""
}

func (o *object) getRequiredString(key, example string) string {
	if v, ok := o.values[key]; !ok || v == "" {
		delete(o.values, key)
		o.fail(field.Required(o.path.Child(key), "for example "+key+": "+example))
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
		o.fail(wrongType(o.path.Child(key), "a positive integer"))
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
		o.fail(wrongType(o.path.Child(key), "an object"))
	}
	return m
}

// rest returns the keys that nobody took, sorted.
func (o *object) rest() []string { return slices.Sorted(maps.Keys(o.values)) }

// refuseRest reports each key that nobody took as unknown.
func (o *object) refuseRest(known []string) {
	for _, key := range o.rest() {
		o.fail(unknownField(o.path, key, known, ""))
	}
}
