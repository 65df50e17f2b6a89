// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// decode strictly decodes YAML into a pointer. Its error lists each unknown key and mistyped value by path, without
// values, which may be secret.
func decode(yamlText []byte, to any) error {
	err := yaml.UnmarshalStrict(yamlText, to)
	if err == nil {
		return nil
	}
	var tree any
	if yaml.Unmarshal(yamlText, &tree) != nil {
		return err // not YAML: the error has the position
	}
	var m schemaErrors
	m.compare(tree, reflect.TypeOf(to).Elem(), nil)
	if len(m.errs) > 0 {
		return errors.New(strings.Join(m.errs, "; "))
	}
	return err
}

// schemaErrors collects the unknown keys and type errors of a YAML tree.
type schemaErrors struct{ errs []string }

// The kinds of YAML values, as they appear in errors.
const (
	kindMap    = "a map"
	kindList   = "a list"
	kindText   = "text"
	kindBool   = "true or false"
	kindNumber = "a number"
)

var (
	scalars = map[string]bool{kindText: true, kindBool: true, kindNumber: true}
	// yamlKinds maps Go kinds to YAML kinds; other kinds are numbers.
	yamlKinds = map[reflect.Kind]string{
		reflect.Struct: kindMap,
		reflect.Map:    kindMap,
		reflect.Slice:  kindList,
		reflect.String: kindText,
		reflect.Bool:   kindBool,
	}
)

// kindOf returns the kind of a decoded value.
func kindOf(tree any) string {
	switch tree.(type) {
	case map[string]any:
		return kindMap
	case []any:
		return kindList
	case string:
		return kindText
	case bool:
		return kindBool
	}
	return kindNumber
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func (m *schemaErrors) compare(tree any, t reflect.Type, at *field.Path) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if tree == nil || t.Kind() == reflect.Interface || len(m.errs) >= limits.Problems {
		return
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		if raw, err := json.Marshal(tree); err == nil && json.Unmarshal(raw, reflect.New(t).Interface()) != nil {
			m.add(at, "is not a valid value for this field")
		}
		return
	}
	want, ok := yamlKinds[t.Kind()]
	if !ok {
		want = kindNumber
	}
	got := kindOf(tree)
	switch {
	case want == kindText && scalars[got]: // the decoder converts all scalars to text
	case want != got:
		m.add(at, "expected "+want+", got "+got)
	case got == kindMap:
		m.compareMap(tree.(map[string]any), t, at)
	case got == kindList:
		for i, item := range tree.([]any) {
			m.compare(item, t.Elem(), at.Index(i))
		}
	}
}

func (m *schemaErrors) compareMap(got map[string]any, t reflect.Type, at *field.Path) {
	var known map[string]reflect.Type
	if t.Kind() == reflect.Struct {
		known = fieldsOf(t)
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if known == nil {
			m.compare(got[key], t.Elem(), at.Key(limits.Message(key)))
			continue
		}
		path := at.Child(limits.Message(key))
		if fieldType, ok := known[key]; ok {
			m.compare(got[key], fieldType, path)
			continue
		}
		names := slices.Sorted(maps.Keys(known))
		m.add(path, "unknown field: "+problem.DidYouMean(key, names)+"known fields: "+strings.Join(names, ", "))
	}
}

// fieldsOf returns the types of a struct's fields by JSON name, including embedded structs.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); f.IsExported() && name != "" && name != "-" {
			fields[name] = f.Type
		}
	}
	return fields
}

func (m *schemaErrors) add(at *field.Path, detail string) {
	if len(m.errs) >= limits.Problems {
		return
	}
	if at == nil {
		m.errs = append(m.errs, detail)
		return
	}
	m.errs = append(m.errs, at.String()+": "+detail)
}
