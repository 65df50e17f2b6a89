// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/internal/suggest"
)

// decode reads YAML into what to points at, and knows every key. The error names each unknown key and each value of a wrong type by its path, and has no value:
// it could be a private key in the wrong place.
func decode(text []byte, to any) error {
	err := yaml.UnmarshalStrict(text, to)
	if err == nil {
		return nil
	}
	var tree any
	if yaml.Unmarshal(text, &tree) != nil {
		return err // no YAML: the error has the line
	}
	var m misfits
	m.compare(tree, reflect.TypeOf(to).Elem(), nil)
	if len(m.errs) > 0 {
		return errors.New(strings.Join(m.errs, "; "))
	}
	return err
}

// misfits collects what of a YAML tree does not fit into a Go type.
type misfits struct{ errs []string }

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func (m *misfits) compare(tree any, t reflect.Type, at *field.Path) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if tree == nil || t.Kind() == reflect.Interface || len(m.errs) >= bounds.Problems {
		return
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		if text, err := json.Marshal(tree); err == nil && json.Unmarshal(text, reflect.New(t).Interface()) != nil {
			m.add(at, "cannot be read as a value of this field")
		}
		return
	}
	switch kind := t.Kind(); {
	case kind == reflect.Struct, kind == reflect.Map:
		if got, ok := tree.(map[string]any); ok {
			m.compareMap(got, t, at)
		} else {
			m.want(at, "a map", tree)
		}
	case kind == reflect.Slice:
		if got, ok := tree.([]any); ok {
			for i, item := range got {
				m.compare(item, t.Elem(), at.Index(i))
			}
		} else {
			m.want(at, "a list", tree)
		}
	case kind == reflect.String: // the decoder takes numbers and booleans as text
		switch tree.(type) {
		case map[string]any, []any:
			m.want(at, "text", tree)
		}
	case kind == reflect.Bool:
		if _, ok := tree.(bool); !ok {
			m.want(at, "true or false", tree)
		}
	default:
		if _, ok := tree.(float64); !ok {
			m.want(at, "a number", tree)
		}
	}
}

func (m *misfits) compareMap(got map[string]any, t reflect.Type, at *field.Path) {
	var known map[string]reflect.Type
	if t.Kind() == reflect.Struct {
		known = fieldsOf(t)
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if known == nil {
			m.compare(got[key], t.Elem(), at.Key(bounds.Message(key)))
			continue
		}
		path := at.Child(bounds.Message(key))
		if of, ok := known[key]; ok {
			m.compare(got[key], of, path)
			continue
		}
		names := slices.Sorted(maps.Keys(known))
		m.add(path, "unknown field: "+suggest.Sentence(key, names)+"fields: "+strings.Join(names, ", "))
	}
}

// fieldsOf are the types of the fields of a struct by their names in JSON, those of embedded structs included.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); f.IsExported() && name != "" && name != "-" {
			fields[name] = f.Type
		}
	}
	return fields
}

func (m *misfits) want(at *field.Path, want string, tree any) {
	got := "a number"
	switch tree.(type) {
	case map[string]any:
		got = "a map"
	case []any:
		got = "a list"
	case string:
		got = "text"
	case bool:
		got = "true or false"
	}
	m.add(at, fmt.Sprintf("want %s, and it is %s", want, got))
}

func (m *misfits) add(at *field.Path, detail string) {
	if len(m.errs) >= bounds.Problems {
		return
	}
	if at == nil {
		m.errs = append(m.errs, detail)
		return
	}
	m.errs = append(m.errs, at.String()+": "+detail)
}
