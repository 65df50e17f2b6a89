// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"reflect"
	"slices"
)

// A tree is JSON as k8s.io/apimachinery decodes it: map[string]any, []any, string, int64, float64, bool and nil. The
// functions accept any tree; values other than objects have no members.

// lookup returns the value at a path, and whether it exists.
func lookup(tree any, path []string) (any, bool) {
	for _, name := range path {
		object, ok := tree.(map[string]any)
		if !ok {
			return nil, false
		}
		if tree, ok = object[name]; !ok {
			return nil, false
		}
	}
	return tree, true
}

// store sets the value at a path, and creates missing parent objects.
func store(tree map[string]any, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		child, ok := tree[name].(map[string]any)
		if !ok {
			child = map[string]any{}
			tree[name] = child
		}
		tree = child
	}
	tree[path[len(path)-1]] = value
}

// remove removes the value at a path, and keeps parent objects even if they become empty.
func remove(tree map[string]any, path []string) {
	parent, _ := lookup(tree, path[:len(path)-1])
	if object, ok := parent.(map[string]any); ok {
		delete(object, path[len(path)-1])
	}
}

// clone copies a tree; leaves are values and need no copy.
func clone(tree any) any {
	switch tree := tree.(type) {
	case map[string]any:
		object := make(map[string]any, len(tree))
		for name, value := range tree {
			object[name] = clone(value)
		}
		return object
	case []any:
		list := make([]any, len(tree))
		for i, value := range tree {
			list[i] = clone(value)
		}
		return list
	default:
		return tree
	}
}

// equal reports whether two trees are the same JSON. Numbers compare by value: 1 equals 1.0.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, value := range a {
			if other, found := b[name]; !found || !equal(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case string, bool, nil:
		return a == b
	case int64:
		if b, ok := b.(float64); ok {
			return float64(a) == b
		}
	case float64:
		if b, ok := b.(int64); ok {
			return a == float64(b)
		}
	}
	return reflect.DeepEqual(a, b)
}
