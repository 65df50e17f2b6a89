// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"bytes"
	"encoding/json"
	"slices"

	kjson "sigs.k8s.io/json"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// unconverted returns the fields and sections in which an object that was converted there and back differs from the
// original. It edits back until both are equal.
func (s versionSchema) unconverted(original, back map[string]any) map[string]v1alpha2.KeptValue {
	kept := map[string]v1alpha2.KeptValue{}
	for _, u := range s.units {
		was, had := u.lookup(original)
		is, has := u.lookup(back)
		if had == has && equal(was, is) {
			continue
		}
		var value v1alpha2.KeptValue
		if had {
			value.Was = encode(was)
			store(back, u.path, was)
		} else {
			remove(back, u.path)
		}
		if has {
			value.If = encode(is)
		}
		kept[u.name] = value
	}
	for _, section := range s.sections {
		had, has := isObject(original, section.path), isObject(back, section.path)
		switch {
		case had && !has:
			kept[section.name] = v1alpha2.KeptValue{Was: emptyObject}
			store(back, section.path, map[string]any{})
		case !had && has:
			kept[section.name] = v1alpha2.KeptValue{If: emptyObject}
		}
	}
	return kept
}

var emptyObject = json.RawMessage("{}")

// restore sets kept values in a converted tree. It skips unknown paths and values of the wrong type, and then returns
// false.
func (s versionSchema) restore(tree map[string]any, kept map[string]v1alpha2.KeptValue) bool {
	used := 0
	for _, u := range s.units {
		if value, found := kept[u.name]; found && u.restore(tree, value) {
			used++
		}
	}
	for _, section := range s.sections {
		if value, found := kept[section.name]; found && bytes.Equal(value.Was, emptyObject) && len(value.If) == 0 {
			used++
			if !isObject(tree, section.path) {
				store(tree, section.path, map[string]any{})
			}
		}
	}
	for _, section := range slices.Backward(s.sections) {
		if value, found := kept[section.name]; found && len(value.Was) == 0 && bytes.Equal(value.If, emptyObject) {
			used++
			if s.hasOnlyDefaults(tree, section.path) {
				remove(tree, section.path)
			}
		}
	}
	return used == len(kept)
}

// restore sets a kept value, unless the field was edited through the other version.
func (u unit) restore(tree map[string]any, kept v1alpha2.KeptValue) bool {
	var was, expected any
	if len(kept.Was) > 0 {
		var ok bool
		if was, ok = u.decode(kept.Was); !ok {
			return false
		}
	}
	if len(kept.If) > 0 {
		if err := kjson.UnmarshalCaseSensitivePreserveInts(kept.If, &expected); err != nil {
			return false
		}
	}

	is, has := u.lookup(tree)
	switch unedited := has == (len(kept.If) > 0) && equal(is, expected); {
	case unedited && len(kept.Was) > 0:
		store(tree, u.path, was)
	case unedited:
		remove(tree, u.path)
	case u.mergeEdit != nil:
		if value, ok := u.mergeEdit(was, is); ok {
			store(tree, u.path, value)
		}
	}
	return true
}

// hasOnlyDefaults reports whether an object has only members with default values.
func (s versionSchema) hasOnlyDefaults(tree map[string]any, path []string) bool {
	value, _ := lookup(tree, path)
	object, ok := value.(map[string]any)
	if !ok {
		return false
	}
	for _, u := range s.units {
		depth := len(u.path) - 1
		if _, found := object[u.path[depth]]; found && slices.Equal(u.path[:depth], path) {
			if _, found := u.lookup(tree); found {
				return false
			}
		}
	}
	for _, section := range s.sections {
		if depth := len(section.path) - 1; slices.Equal(section.path[:depth], path) && isObject(tree, section.path) {
			return false
		}
	}
	return true
}

func isObject(tree map[string]any, path []string) bool {
	value, _ := lookup(tree, path)
	_, ok := value.(map[string]any)
	return ok
}

// encode returns compact JSON, or nil for a value that is not JSON, which an API server never sends.
func encode(value any) json.RawMessage {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
}
