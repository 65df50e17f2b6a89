// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// The two versions, derived from fieldMappings.
var (
	spoke = newVersionSchema("v1alpha1", reflect.TypeFor[LlamaStackDistribution](),
		func(m fieldMapping) (path, unit string, dflt any) {
			return m.spoke, m.spokeUnit, m.spokeDefault
		})
	hub = newVersionSchema("v1alpha2", reflect.TypeFor[v1alpha2.LlamaStackDistribution](),
		func(m fieldMapping) (path, unit string, dflt any) {
			return m.hub, "", m.hubDefault
		})
	toHub = newMoves(func(m fieldMapping) (from, to string, turn func(any) (any, bool)) {
		return m.spoke, m.hub, m.toHub
	})
	toSpoke = newMoves(func(m fieldMapping) (from, to string, turn func(any) (any, bool)) {
		return m.hub, m.spoke, m.toSpoke
	})
)

// versionSchema describes the fields that conversion handles in one version, and their parent objects.
type versionSchema struct {
	version string
	// units are the fields that are compared and restored as a whole, without those with the same path in both versions,
	// such as the status.
	units []unit
	// sections are the parent objects of units, outer ones first. They may be empty.
	sections []node
}

type node struct {
	name string
	path []string
	// goType is the Go type of the value.
	goType reflect.Type
}

type unit struct {
	node
	defaultValue any
	mergeEdit    func(had, edited any) (any, bool)
}

// move converts one field to the other version.
type move struct {
	from, to []string
	convert  func(any) (any, bool)
}

func newVersionSchema(
	version string,
	root reflect.Type,
	pick func(fieldMapping) (path, unit string, dflt any),
) versionSchema {
	s := versionSchema{version: version}
	for _, mapping := range fieldMappings {
		name, enclosing, dflt := pick(mapping)
		if enclosing != "" {
			name = enclosing
		}
		if name == "" || mapping.spoke == mapping.hub || slices.ContainsFunc(s.units, func(u unit) bool {
			return u.name == name
		}) {
			continue
		}
		u := unit{node: newNode(root, name), defaultValue: dflt}
		if version == v1alpha2.OriginV1alpha2 {
			u.mergeEdit = mapping.mergeEdit
		}
		s.units = append(s.units, u)
		for depth := range u.path[1:] {
			section := newNode(root, strings.Join(u.path[:depth+1], "."))
			if !slices.ContainsFunc(s.sections, func(n node) bool { return n.name == section.name }) {
				s.sections = append(s.sections, section)
			}
		}
	}
	slices.SortStableFunc(s.sections, func(a, b node) int { return cmp.Compare(len(a.path), len(b.path)) })
	return s
}

func newNode(root reflect.Type, name string) node {
	n := node{name: name, path: strings.Split(name, "."), goType: root}
	for _, member := range n.path {
		n.goType = memberType(n.goType, member)
	}
	return n
}

// memberType returns the Go type of a struct member by its JSON name, or nil. A test checks that every path of
// fieldMappings has a type.
func memberType(structType reflect.Type, name string) reflect.Type {
	if structType == nil {
		return nil
	}
	if structType.Kind() == reflect.Pointer {
		structType = structType.Elem()
	}
	for field := range structType.Fields() {
		if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag == name {
			return field.Type
		}
	}
	return nil
}

func newMoves(pick func(fieldMapping) (from, to string, turn func(any) (any, bool))) []move {
	var moves []move
	for _, mapping := range fieldMappings {
		if from, to, turn := pick(mapping); from != "" && to != "" {
			moves = append(moves, move{from: strings.Split(from, "."), to: strings.Split(to, "."), convert: turn})
		}
	}
	return moves
}

// decode parses a kept value, and returns false if the API would reject it, because readers must be able to decode the
// object.
func (n node) decode(raw json.RawMessage) (any, bool) {
	if _, excess := limits.Scan(raw, limits.Limits{Bytes: len(raw), Levels: responseLevels,
		Nodes: len(raw)}); excess != nil {
		return nil, false
	}
	strict, err := kjson.UnmarshalStrict(raw, reflect.New(n.goType).Interface())
	if err != nil || len(strict) > 0 {
		return nil, false
	}
	var tree any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &tree); err != nil {
		return nil, false
	}
	return tree, true
}

// lookup returns the value of the unit. A value that equals its default counts as absent.
func (u unit) lookup(tree map[string]any) (any, bool) {
	value, found := lookup(tree, u.path)
	if found && u.defaultValue != nil && equal(value, u.defaultValue) {
		return nil, false
	}
	return value, found
}

// setDefaults sets the defaults that the API server would set in this version.
func (s versionSchema) setDefaults(tree map[string]any) {
	for _, u := range s.units {
		if u.defaultValue == nil {
			continue
		}
		parent, _ := lookup(tree, u.path[:len(u.path)-1])
		object, ok := parent.(map[string]any)
		if !ok {
			continue
		}
		name := u.path[len(u.path)-1]
		if _, found := object[name]; !found {
			object[name] = u.defaultValue
		}
	}
}
