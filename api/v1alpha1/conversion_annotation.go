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

// annotationsLimit is the size in bytes that the API server admits for all annotations of an object together, keys and
// values. It checks the answer of a conversion too, and a failing conversion fails every list and watch.
const annotationsLimit = 256 * 1024

// annotationsPath stands in ConversionRecord.Lost for an unreadable annotation for which there was no space.
const annotationsPath = "metadata.annotations"

var annotationPath = []string{"metadata", "annotations", v1alpha2.ConversionAnnotation}

// readRecord reads the annotation of an object. Where that is not possible the record is empty, and the error says why;
// an annotation that is missing or empty says nothing, which is not an error.
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

// withRecord copies metadata with the record as its annotation. What could not be read of the annotation that was there
// goes to another key.
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

	free := roomFor(annotations)
	if unreadable != "" {
		key := unreadableKey(annotations, unreadable)
		size := len(key) + len(unreadable)
		if _, there := annotations[key]; there {
			size = 0
		}
		if text := fit(record, free); size+sizeOf(text) <= free {
			annotations[key] = unreadable
			free -= size
		} else {
			record.Lost = append(record.Lost, annotationsPath)
		}
	}
	if text := fit(record, free); text != "" {
		annotations[v1alpha2.ConversionAnnotation] = text
	}

	if len(annotations) == 0 {
		delete(result, "annotations")
	} else {
		result["annotations"] = annotations
	}
	return result
}

// unreadableKey is the first key that is free or holds the very value already.
func unreadableKey(annotations map[string]any, value string) string {
	key := v1alpha2.UnreadableConversionAnnotation
	for n := 2; ; n++ {
		if taken, found := annotations[key]; !found || taken == value {
			return key
		}
		key = fmt.Sprintf("%s-%d", v1alpha2.UnreadableConversionAnnotation, n)
	}
}

// roomFor is the number of bytes that further annotations may have.
func roomFor(annotations map[string]any) int {
	free := annotationsLimit
	for key, value := range annotations {
		text, _ := value.(string)
		free -= len(key) + len(text)
	}
	return free
}

func sizeOf(text string) int {
	if text == "" {
		return 0
	}
	return len(v1alpha2.ConversionAnnotation) + len(text)
}

// fit encodes a record in the space that there is; empty where there is nothing to keep, or no space at all. As long as
// it is too long it loses the largest of its values and names them instead, and at last the names.
func fit(record *v1alpha2.ConversionRecord, free int) string {
	r := *record
	r.Kept, r.Lost = maps.Clone(r.Kept), slices.Clone(r.Lost)
	largestLast := slices.SortedFunc(maps.Keys(r.Kept), func(a, b string) int {
		sizeA, sizeB := len(r.Kept[a].Was)+len(r.Kept[a].If), len(r.Kept[b].Was)+len(r.Kept[b].If)
		return cmp.Or(sizeA-sizeB, strings.Compare(a, b))
	})
	for r.Origin != "" || len(r.Kept) > 0 || len(r.Lost) > 0 {
		slices.Sort(r.Lost)
		r.Lost = slices.Compact(r.Lost)
		if text := string(encode(r)); sizeOf(text) <= free {
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

// stillLost returns the fields that an earlier conversion had no room for and that nobody has set since.
func stillLost(names []string, object, result map[string]any) []string {
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
