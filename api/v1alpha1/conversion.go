// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"fmt"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// ToV1alpha2 converts an object from v1alpha1 to v1alpha2, both as the JSON tree of an unstructured.Unstructured. The
// package comment states its guarantees.
func ToV1alpha2(object map[string]any) map[string]any {
	return convert(object, spoke, hub, toHub, toSpoke)
}

// FromV1alpha2 converts an object from v1alpha2 to v1alpha1; it is the inverse of ToV1alpha2.
func FromV1alpha2(object map[string]any) map[string]any {
	return convert(object, hub, spoke, toSpoke, toHub)
}

// Convert converts an object to an apiVersion such as "llamastack.io/v1alpha2", and returns an object of that version
// unchanged. It fails if one of the versions does not belong to this API.
func Convert(object map[string]any, apiVersion string) (map[string]any, error) {
	const (
		v1 = "llamastack.io/v1alpha1"
		v2 = "llamastack.io/v1alpha2"
	)
	switch from := [2]any{object["apiVersion"], apiVersion}; from {
	case [2]any{v1, v2}:
		return ToV1alpha2(object), nil
	case [2]any{v2, v1}:
		return FromV1alpha2(object), nil
	case [2]any{v1, v1}, [2]any{v2, v2}:
		return object, nil
	default:
		return nil, fmt.Errorf("cannot convert apiVersion %v to %s: the versions of this API are %s and %s",
			object["apiVersion"], apiVersion, v1, v2)
	}
}

// convert moves the fields that both versions have and restores those in the annotation. It then converts the result
// back, and stores every difference in the annotation, so that no field is lost even if its row in the table is wrong.
func convert(object map[string]any, source, target versionSchema, forward, backward []move) map[string]any {
	annotation, _ := lookup(object, annotationPath)
	text, _ := annotation.(string)
	restored, err := readRecord(text)
	result, _ := clone(convertFields(object, forward)).(map[string]any)
	unreadable := ""
	if complete := target.restore(result, restored.Kept); err != nil || !complete {
		unreadable = text
	}
	target.setDefaults(result)

	record := &v1alpha2.ConversionRecord{
		Version: v1alpha2.ConversionRecordVersion,
		Kept:    source.unconverted(object, convertFields(result, backward)),
		Lost:    remainingLosses(restored.Lost, object, result),
	}
	if origin := cmp.Or(restored.Origin, source.version); origin != target.version {
		record.Origin = origin
	}

	result["apiVersion"] = GroupVersion.Group + "/" + target.version
	if kind, found := object["kind"]; found {
		result["kind"] = kind
	}
	metadata, found := object["metadata"]
	if !found {
		metadata = map[string]any{}
	}
	if metadata := withRecord(metadata, record, unreadable); found || !equal(metadata, map[string]any{}) {
		result["metadata"] = metadata
	}
	return result
}

// convertFields moves the fields that the other version has. The result shares values with the object.
func convertFields(object map[string]any, moves []move) map[string]any {
	result := map[string]any{}
	for _, m := range moves {
		value, found := lookup(object, m.from)
		if found && m.convert != nil {
			value, found = m.convert(value)
		}
		if found {
			store(result, m.to, value)
		}
	}
	return result
}
