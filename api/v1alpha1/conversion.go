// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"fmt"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// ToV1alpha2 converts an object of v1alpha1 into one of v1alpha2, both as the JSON tree that
// unstructured.Unstructured holds. See the package comment for what it promises.
func ToV1alpha2(object map[string]any) map[string]any {
	return convert(object, spoke, hub, toHub, toSpoke)
}

// FromV1alpha2 converts an object of v1alpha2 into one of v1alpha1; it is the inverse of ToV1alpha2.
func FromV1alpha2(object map[string]any) map[string]any {
	return convert(object, hub, spoke, toSpoke, toHub)
}

// Convert converts an object into the version that apiVersion names, such as "llamastack.io/v1alpha2". An object that
// has that version already is returned as it is. The error says that one of the two versions is not of this API.
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

// convert moves the fields that both versions have, restores what the annotation carries for the target, and then asks
// what the way back would make of the result: whatever that leaves out or changes is carried to the target in its
// annotation. So a field is never lost, not even one whose row in the table is wrong.
func convert(object map[string]any, source, target side, forth, back []move) map[string]any {
	annotation, _ := lookup(object, annotationPath)
	text, _ := annotation.(string)
	carried, err := readRecord(text)
	result, _ := clone(plain(object, forth)).(map[string]any)
	unreadable := ""
	if complete := target.restore(result, carried.Kept); err != nil || !complete {
		unreadable = text
	}
	target.setDefaults(result)

	record := &v1alpha2.ConversionRecord{
		Version: v1alpha2.ConversionRecordVersion,
		Kept:    source.leftovers(object, plain(result, back)),
		Lost:    stillLost(carried.Lost, object, result),
	}
	if origin := cmp.Or(carried.Origin, source.version); origin != target.version {
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
	if metadata := withRecord(metadata, record, unreadable); found || !same(metadata, map[string]any{}) {
		result["metadata"] = metadata
	}
	return result
}

// plain moves the fields that have a place in the other version, and does no more. Its result shares their values with
// the object.
func plain(object map[string]any, moves []move) map[string]any {
	result := map[string]any{}
	for _, m := range moves {
		value, found := lookup(object, m.from)
		if found && m.turn != nil {
			value, found = m.turn(value)
		}
		if found {
			store(result, m.to, value)
		}
	}
	return result
}
