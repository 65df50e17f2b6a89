// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// droppedFieldsError means that the API server silently drops fields of the spec, because their feature gate is off.
type droppedFieldsError struct {
	fields []string
}

func (e *droppedFieldsError) Error() string {
	return "this cluster's API server drops " + strings.Join(e.fields, ", ")
}

func isDropped(err error) bool {
	_, ok := errors.AsType[*droppedFieldsError](err)
	return ok
}

// checkDropped returns an error with the spec's fields that the API server dropped from the Deployment, or nil.
func checkDropped(owner *v1alpha2.LlamaStackDistribution, c *change, applied *unstructured.Unstructured) error {
	sentSpec, _, _ := unstructured.NestedFieldNoCopy(c.Object, "spec", "template", "spec")
	appliedSpec, _, _ := unstructured.NestedFieldNoCopy(applied.Object, "spec", "template", "spec")
	in := specOf(owner)
	fields := slices.DeleteFunc(
		droppedFields(strings.TrimSuffix(podSpec, "."), sentSpec, appliedSpec),
		func(field string) bool {
			return !slices.ContainsFunc(origins, func(o origin) bool {
				_, own := o.specPath(c, in, field)
				return own
			})
		},
	)
	if len(fields) == 0 {
		return nil
	}
	return &droppedFieldsError{fields}
}

// userKeyedFields are fields whose keys the user chooses.
var userKeyedFields = []string{"annotations", "labels", "limits", "matchLabels", "nodeSelector", "options", "requests",
	"volumeAttributes"}

// droppedFields returns the outermost fields that are in sent but not in applied; webhooks may change values and lists.
func droppedFields(path string, sent, applied any) (fields []string) {
	switch sent := sent.(type) {
	case map[string]any:
		other, _ := applied.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(sent)) {
			switch value, found := other[name]; {
			case found && !slices.Contains(userKeyedFields, name):
				fields = append(fields, droppedFields(path+"."+name, sent[name], value)...)
			case !found && !isEmpty(sent[name]):
				fields = append(fields, path+"."+name)
			}
		}
	case []any:
		other, _ := applied.([]any)
		for i := range sent {
			at := fmt.Sprintf("%s[%d]", path, i)
			switch entry := counterpart(sent, i, other); {
			case entry != nil:
				fields = append(fields, droppedFields(at, sent[i], entry)...)
			case keyOf(sent[i], imageVolume) != nil && strings.HasSuffix(path, ".volumes"):
				fields = append(fields, at+"."+imageVolume)
			}
		}
	}
	return fields
}

// imageVolume is the source of a volume that the API server drops as a whole, with its mounts.
const imageVolume = "image"

// isEmpty reports whether an API server omits the value.
func isEmpty(value any) bool {
	v := reflect.ValueOf(value)
	return !v.IsValid() || v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0
}

// counterpart returns the other list's entry with the same key, or without keys at the same index.
func counterpart(list []any, i int, other []any) any {
	for _, key := range []string{"mountPath", "name"} {
		if value := keyOf(list[i], key); value != nil {
			if at := slices.IndexFunc(other, func(entry any) bool { return keyOf(entry, key) == value }); at >= 0 {
				return other[at]
			}
			return nil
		}
	}
	if len(other) != len(list) {
		return nil
	}
	return other[i]
}
