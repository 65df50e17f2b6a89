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

// The two versions, as fieldMappings makes them.
var (
	spoke = newSide("v1alpha1", reflect.TypeFor[LlamaStackDistribution](),
		func(m fieldMapping) (path, unit string, dflt any) {
			return m.spoke, m.spokeUnit, m.spokeDefault
		})
	hub = newSide("v1alpha2", reflect.TypeFor[v1alpha2.LlamaStackDistribution](),
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

// side is one version: the fields that conversion deals with, and the objects around them.
type side struct {
	version string
	// units are compared and restored as a whole. What has the same path in both versions needs no restoring, and is not a
	// unit: an annotation can restore nothing of the status.
	units []unit
	// sections are the objects around units, outer ones first. They can be there without having a member.
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
	dflt      any
	reconcile func(had, edited any) (any, bool)
}

// move is one field on its way to the other version.
type move struct {
	from, to []string
	turn     func(any) (any, bool)
}

func newSide(version string, root reflect.Type, of func(fieldMapping) (path, unit string, dflt any)) side {
	s := side{version: version}
	for _, mapping := range fieldMappings {
		name, around, dflt := of(mapping)
		if around != "" {
			name = around
		}
		if name == "" || mapping.spoke == mapping.hub || slices.ContainsFunc(s.units, func(u unit) bool {
			return u.name == name
		}) {
			continue
		}
		u := unit{node: newNode(root, name), dflt: dflt}
		if version == v1alpha2.OriginV1alpha2 {
			u.reconcile = mapping.reconcile
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

// memberType is the Go type of a member of a struct, by its JSON name; nil where there is none. A test sees to it that
// every path of fieldMappings has a type.
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

func newMoves(of func(fieldMapping) (from, to string, turn func(any) (any, bool))) []move {
	var moves []move
	for _, mapping := range fieldMappings {
		if from, to, turn := of(mapping); from != "" && to != "" {
			moves = append(moves, move{from: strings.Split(from, "."), to: strings.Split(to, "."), turn: turn})
		}
	}
	return moves
}

// decode reads a kept value and reports whether the API would take it there: what an annotation says must not get into
// an object in a shape that its readers cannot decode.
func (n node) decode(raw json.RawMessage) (any, bool) {
	if _, excess := limits.Scan(raw, limits.Limits{Bytes: len(raw), Levels: answerLevels,
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

// lookup returns the value of the unit; a value that equals its default counts as absent.
func (u unit) lookup(tree map[string]any) (any, bool) {
	value, found := lookup(tree, u.path)
	if found && u.dflt != nil && same(value, u.dflt) {
		return nil, false
	}
	return value, found
}

// setDefaults gives the tree what the API server would fill in when it reads the tree in this version.
func (s side) setDefaults(tree map[string]any) {
	for _, u := range s.units {
		if u.dflt == nil {
			continue
		}
		parent, _ := lookup(tree, u.path[:len(u.path)-1])
		object, ok := parent.(map[string]any)
		if !ok {
			continue
		}
		name := u.path[len(u.path)-1]
		if _, found := object[name]; !found {
			object[name] = u.dflt
		}
	}
}
