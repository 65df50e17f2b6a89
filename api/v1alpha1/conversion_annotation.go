// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// annotationsLimit is the API server's limit in bytes for the keys and values of all annotations of an object. It also
// applies to converted objects, and a failed conversion fails every list and watch.
const annotationsLimit = 256 * 1024

// annotationsPath represents in ConversionRecord.Lost an unreadable annotation that did not fit.
const annotationsPath = "metadata.annotations"

var annotationPath = []string{"metadata", "annotations", v1alpha2.ConversionAnnotation}

// readRecord parses the annotation of an object. The record is empty for an absent annotation and on errors.
func readRecord(text string) (*v1alpha2.ConversionRecord, error) {
	switch {
	case text == "":
		return &v1alpha2.ConversionRecord{}, nil
	case len(text) > annotationsLimit:
		return &v1alpha2.ConversionRecord{}, errors.New("larger than the API server admits")
	}
	record, err := v1alpha2.ParseConversionRecord(text)
	if err != nil {
		return &v1alpha2.ConversionRecord{}, err
	}
	return record, nil
}

// withRecord returns a copy of metadata with the record as its annotation. The unreadable value of an earlier
// annotation moves to another key.
func withRecord(metadata any, record *v1alpha2.ConversionRecord, unreadable string) any {
	result, isObject := clone(metadata).(map[string]any)
	annotations, hasAnnotations := result["annotations"].(map[string]any)
	if !isObject || (!hasAnnotations && result["annotations"] != nil) {
		return metadata
	}
	if !hasAnnotations {
		annotations = map[string]any{}
	}
	delete(annotations, v1alpha2.ConversionAnnotation)

	remaining := remainingBytes(annotations)
	if unreadable != "" {
		key := unreadableKey(annotations, unreadable)
		size := len(key) + len(unreadable)
		if _, exists := annotations[key]; exists {
			size = 0
		}
		if text := encodeWithin(record, remaining); size+annotationSize(text) <= remaining {
			annotations[key] = unreadable
			remaining -= size
		} else {
			record.Lost = append(record.Lost, annotationsPath)
		}
	}
	if text := encodeWithin(record, remaining); text != "" {
		annotations[v1alpha2.ConversionAnnotation] = text
	}

	if len(annotations) == 0 {
		delete(result, "annotations")
	} else {
		result["annotations"] = annotations
	}
	return result
}

// unreadableKey returns the first key that is free or already has the value.
func unreadableKey(annotations map[string]any, value string) string {
	key := v1alpha2.UnreadableConversionAnnotation
	for n := 2; ; n++ {
		if taken, found := annotations[key]; !found || taken == value {
			return key
		}
		key = fmt.Sprintf("%s-%d", v1alpha2.UnreadableConversionAnnotation, n)
	}
}

// remainingBytes returns how many bytes further annotations may have.
func remainingBytes(annotations map[string]any) int {
	remaining := annotationsLimit
	for key, value := range annotations {
		text, _ := value.(string)
		remaining -= len(key) + len(text)
	}
	return remaining
}

func annotationSize(text string) int {
	if text == "" {
		return 0
	}
	return len(v1alpha2.ConversionAnnotation) + len(text)
}

// encodeWithin encodes a record within a limit in bytes. If the record is too long, it replaces the largest values by
// their names in Lost, and finally drops the names; the result may be empty.
func encodeWithin(record *v1alpha2.ConversionRecord, limit int) string {
	r := *record
	r.Kept, r.Lost = maps.Clone(r.Kept), slices.Clone(r.Lost)
	largestLast := slices.SortedFunc(maps.Keys(r.Kept), func(a, b string) int {
		sizeA, sizeB := len(r.Kept[a].Was)+len(r.Kept[a].If), len(r.Kept[b].Was)+len(r.Kept[b].If)
		return cmp.Or(sizeA-sizeB, strings.Compare(a, b))
	})
	for r.Origin != "" || len(r.Kept) > 0 || len(r.Lost) > 0 {
		slices.Sort(r.Lost)
		r.Lost = slices.Compact(r.Lost)
		if text := string(encode(r)); annotationSize(text) <= limit {
			return text
		}
		switch n := len(largestLast); {
		case n > 0:
			delete(r.Kept, largestLast[n-1])
			r.Lost = append(r.Lost, largestLast[n-1])
			largestLast = largestLast[:n-1]
		case len(r.Lost) > 0:
			r.Lost = nil
		default:
			return ""
		}
	}
	return ""
}

// remainingLosses returns the fields that an earlier conversion lost and that are still unset.
func remainingLosses(names []string, object, result map[string]any) []string {
	if len(names) == 0 {
		return nil
	}
	var lost []string
	for _, u := range slices.Concat(spoke.units, hub.units) {
		_, inObject := lookup(object, u.path)
		_, inResult := lookup(result, u.path)
		if slices.Contains(names, u.name) && !inObject && !inResult {
			lost = append(lost, u.name)
		}
	}
	if slices.Contains(names, annotationsPath) {
		lost = append(lost, annotationsPath)
	}
	return lost
}
