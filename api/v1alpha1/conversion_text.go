// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// responseLevels is the maximum nesting of a converted object, which the API server decodes inside a ConversionReview
// with at most limits.StoredLevels.
const responseLevels = limits.StoredLevels - 100

// openPaths are the fields of v1alpha2 whose size the schema does not limit.
var openPaths = [][]string{
	{"spec", "providers"}, {"spec", "resources"}, {"spec", "externalProviders"}, {"spec", "auth"},
	{"spec", "networking", "expose"},
}

// ErrNotAnObject means that a text is not a JSON object.
var ErrNotAnObject = errors.New("not the JSON of an object")

// ConvertText converts the JSON of an object like Convert. It accepts every object that an API server can store: open
// fields above the limits are kept as text, in the annotation if they nest too deeply. It fails with ErrNotAnObject,
// for a version of another API, or when the context ends.
func ConvertText(ctx context.Context, text []byte, apiVersion string) ([]byte, error) {
	small, large := extractLargeFields(text)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var object map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(small,
		&object); err != nil { // integers stay integers, however large
		return nil, fmt.Errorf("%w: %w", ErrNotAnObject, err)
	}
	if object == nil {
		return nil, ErrNotAnObject
	}
	for _, l := range large {
		store(object, l.path, l.text)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	converted, err := Convert(object, apiVersion)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	response, err := write(converted)
	if err != nil {
		return nil, err
	}
	if _, excess := limits.Scan(response, limits.Limits{Bytes: len(response), Levels: responseLevels,
		Nodes: len(response)}); excess != nil {
		// The API server keeps the managed fields of the stored object.
		remove(converted, []string{"metadata", "managedFields"})
		return write(converted)
	}
	return response, nil
}

func write(object map[string]any) ([]byte, error) {
	var b bytes.Buffer
	err := json.NewEncoder(&b).Encode(object)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// largeField is a field that is kept as text.
type largeField struct {
	path       []string
	text       json.RawMessage
	begin, end int
}

// extractLargeFields replaces open fields above the limits by null, and returns them separately. Only v1alpha2 has open
// fields.
func extractLargeFields(text []byte) ([]byte, []largeField) {
	begin, end, found := limits.Member(text, "apiVersion")
	if !found || strings.Trim(string(text[begin:end]), `"`) != v1alpha2.GroupVersion.String() {
		return text, nil
	}
	var large []largeField
	for _, path := range openPaths {
		begin, end, found := limits.Member(text, path...)
		if !found {
			continue
		}
		field := text[begin:end]
		bounds := limits.Limits{Bytes: len(field), Levels: limits.ObjectLevels, Nodes: limits.OpenFieldNodes}
		if _, excess := limits.Scan(field, bounds); excess != nil && json.Valid(field) {
			large = append(large, largeField{path: path, text: bytes.Clone(field), begin: begin, end: end})
		}
	}
	if len(large) == 0 {
		return text, nil
	}
	slices.SortFunc(large, func(a, b largeField) int { return cmp.Compare(a.begin, b.begin) })
	var small []byte
	at := 0
	for _, l := range large {
		small = append(append(small, text[at:l.begin]...), "null"...)
		at = l.end
	}
	return append(small, text[at:]...), large
}
