// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// leftOutError are fields of the spec that an API server knows and silently leaves out of an object: their feature gate is off.
type leftOutError struct {
	// fields are those of the object.
	fields []string
}

func (e *leftOutError) Error() string {
	return "this cluster's API server leaves out " + strings.Join(e.fields, ", ")
}

func isLeftOut(err error) bool {
	_, ok := errors.AsType[*leftOutError](err)
	return ok
}

// leftOut reports which fields of the spec the API server left out of a Deployment that it was asked for; nil where there are none. What the operator
// adds by itself, or by its settings, does not count.
func leftOut(owner *v1alpha2.LlamaStackDistribution, c *change, answer *unstructured.Unstructured) error {
	sent, ok := c.object.(*appsv1.Deployment)
	if !ok {
		return nil
	}
	answered := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(answer.Object, answered); err != nil {
		return err
	}
	fields := missing(strings.TrimSuffix(podSpec, "."), reflect.ValueOf(sent.Spec.Template.Spec), reflect.ValueOf(answered.Spec.Template.Spec))
	in := specOf(owner)
	fields = slices.DeleteFunc(fields, func(field string) bool {
		return !slices.ContainsFunc(origins, func(o origin) bool {
			_, own := o.field(c, in, field)
			return own
		})
	})
	if len(fields) == 0 {
		return nil
	}
	return &leftOutError{fields}
}

// missing lists the fields that one value has and the other one of the same type has not, the outermost of each. Values that differ, keys of maps
// and entries of lists do not count: webhooks of others change them.
func missing(path string, sent, answered reflect.Value) (fields []string) {
	if isEmpty(sent) {
		return nil
	}
	if isEmpty(answered) && sent.Kind() != reflect.Struct { // of a struct, the fields are named
		return []string{path}
	}
	switch sent.Kind() { //nolint:exhaustive // the others have nothing below them that counts
	case reflect.Pointer:
		return missing(path, sent.Elem(), answered.Elem())
	case reflect.Slice:
		for i := range sent.Len() {
			if entry := counterpart(sent, i, answered); entry.IsValid() {
				fields = append(fields, missing(fmt.Sprintf("%s[%d]", path, i), sent.Index(i), entry)...)
			}
		}
	case reflect.Struct:
		if _, leaf := reflect.TypeAssert[json.Marshaler](sent); leaf { // as a quantity
			return nil
		}
		for i := range sent.NumField() {
			name, _, _ := strings.Cut(sent.Type().Field(i).Tag.Get("json"), ",")
			below := path + "." + name
			if name == "" { // inline
				below = path
			}
			fields = append(fields, missing(below, sent.Field(i), answered.Field(i))...)
		}
	}
	return fields
}

func isEmpty(v reflect.Value) bool { return v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 }

// counterpart is the entry of the other list: that of the same key, or, where entries have none, that at the same place of as many.
func counterpart(list reflect.Value, i int, other reflect.Value) reflect.Value {
	entry := list.Index(i)
	if entry.Kind() == reflect.Struct {
		for _, key := range []string{"MountPath", "Name"} {
			if value := entry.FieldByName(key); value.IsValid() && !value.IsZero() {
				for j := range other.Len() {
					if other.Index(j).FieldByName(key).Equal(value) {
						return other.Index(j)
					}
				}
				return reflect.Value{}
			}
		}
	}
	if other.Len() != list.Len() {
		return reflect.Value{}
	}
	return other.Index(i)
}
