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

// answerLevels is how deep a converted object may nest: the API server decodes it within a review, and decodes no more
// than bounds.StoredLevels.
const answerLevels = limits.StoredLevels - 100

// openPaths are the fields of v1alpha2 that can be as large as the schema leaves them open.
var openPaths = [][]string{
	{"spec", "providers"}, {"spec", "resources"}, {"spec", "externalProviders"}, {"spec", "auth"},
	{"spec", "networking", "expose"},
}

// ErrNotAnObject says that a text is not the JSON of an object.
var ErrNotAnObject = errors.New("not the JSON of an object")

// ConvertText converts an object as Convert does, as the JSON that the API server sends. It takes every object that an
// API server can store, also one of a time before its bounds: an open field that is too large is carried as the text
// that it is, and what could not be decoded within an answer stays in the annotation. The error is ErrNotAnObject, or
// says that one of the versions is not of this API, or is that of the context: once it is done, the object is not
// decoded, converted or written any more.
func ConvertText(ctx context.Context, text []byte, apiVersion string) ([]byte, error) {
	small, large := cutLarge(text)
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
	answer, err := write(converted)
	if err != nil {
		return nil, err
	}
	if _, excess := limits.Scan(answer, limits.Limits{Bytes: len(answer), Levels: answerLevels,
		Nodes: len(answer)}); excess != nil {
		// The API server keeps these of the object that it has.
		remove(converted, []string{"metadata", "managedFields"})
		return write(converted)
	}
	return answer, nil
}

func write(object map[string]any) ([]byte, error) {
	var b bytes.Buffer
	err := json.NewEncoder(&b).Encode(object)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// largeField is a field that is not decoded.
type largeField struct {
	path       []string
	text       json.RawMessage
	begin, end int
}

// cutLarge puts null in the place of open fields that are too large, and returns these apart. Only objects of v1alpha2
// have any.
func cutLarge(text []byte) ([]byte, []largeField) {
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
		limitsValue := limits.Limits{Bytes: len(field), Levels: limits.ObjectLevels, Nodes: limits.OpenFieldNodes}
		if _, excess := limits.Scan(field, limitsValue); excess != nil && json.Valid(field) {
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
