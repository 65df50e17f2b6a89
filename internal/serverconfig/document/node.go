// SPDX-License-Identifier: Apache-2.0

package document

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Child returns the value of a key of a map; nil if n is not a map, or the value is absent or null.
func Child(n *yaml.Node, key string) *yaml.Node {
	if at, ok := IndexOf(n, key); ok && !IsNull(n.Content[at]) {
		return n.Content[at]
	}
	return nil
}

// Descend returns the value at a path of keys, or nil.
func Descend(n *yaml.Node, path []string) *yaml.Node {
	for _, key := range path {
		n = Child(n, key)
	}
	return n
}

// IndexOf returns the position of a key's value in a map, and whether it exists.
func IndexOf(n *yaml.Node, key string) (int, bool) {
	if n == nil || n.Kind != yaml.MappingNode {
		return 0, false
	}
	value := 1
	for pair := range slices.Chunk(n.Content, 2) {
		if pair[0].Value == key {
			return value, true
		}
		value += 2
	}
	return 0, false
}

// Set sets a key of a map; it replaces the value or appends the key.
func Set(n *yaml.Node, key string, value *yaml.Node) {
	if at, ok := IndexOf(n, key); ok {
		n.Content[at] = value
		return
	}
	n.Content = append(n.Content, String(key), value)
}

// Ensure returns the value of a key of a map; it replaces a value of another kind by an empty one.
func Ensure(n *yaml.Node, key string, kind yaml.Kind) *yaml.Node {
	if v := Child(n, key); v != nil && v.Kind == kind {
		return v
	}
	v := &yaml.Node{Kind: kind}
	Set(n, key, v)
	return v
}

// Drop removes a key from a map.
func Drop(n *yaml.Node, key string) {
	for at, ok := IndexOf(n, key); ok; at, ok = IndexOf(n, key) {
		n.Content = slices.Delete(n.Content, at-1, at+1)
	}
}

// Keys returns the keys of a map in order.
func Keys(n *yaml.Node) []string {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	var names []string
	for pair := range slices.Chunk(n.Content, 2) {
		names = append(names, pair[0].Value)
	}
	return names
}

// Members returns the keys and values of a map in order.
func Members(n *yaml.Node) iter.Seq2[string, *yaml.Node] {
	return func(yield func(string, *yaml.Node) bool) {
		if n == nil || n.Kind != yaml.MappingNode {
			return
		}
		for pair := range slices.Chunk(n.Content, 2) {
			if !yield(pair[0].Value, pair[1]) {
				return
			}
		}
	}
}

// Items returns the items of a list, or nil.
func Items(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// Text returns the text of a scalar, or "".
func Text(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

// Given returns the text of a child, or "" for nil and for a reference with an empty default.
func Given(child *yaml.Node) string {
	value := Text(child)
	if strings.HasPrefix(value, "${env.") && strings.HasSuffix(value, ":=}") {
		return ""
	}
	return value
}

// IsNull reports whether a node is null.
func IsNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// Clone copies a tree without aliases.
func Clone(n *yaml.Node) *yaml.Node {
	nodes, links := size(n)
	s := slab{nodes: make([]yaml.Node, nodes), links: make([]*yaml.Node, links)}
	return s.copy(n)
}

func size(n *yaml.Node) (nodes, links int) {
	nodes, links = 1, len(n.Content)
	for _, inner := range n.Content {
		innerNodes, innerLinks := size(inner)
		nodes, links = nodes+innerNodes, links+innerLinks
	}
	return nodes, links
}

// slab is the memory of a tree in two allocations: each generation copies a tree of about a thousand nodes.
type slab struct {
	nodes []yaml.Node
	links []*yaml.Node
}

func (s *slab) copy(n *yaml.Node) *yaml.Node {
	c := &s.nodes[0]
	s.nodes = s.nodes[1:]
	*c = *n
	count := len(n.Content)
	c.Content = s.links[:count:count] // an append must reallocate
	s.links = s.links[count:]
	for i, inner := range n.Content {
		c.Content[i] = s.copy(inner)
	}
	return c
}

// same reports whether two trees have the same encoding.
func same(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Style != b.Style || a.Tag != b.Tag || a.Value != b.Value || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !same(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

// MapIndex sets keys of a map in constant time. The map must not change in other ways meanwhile.
type MapIndex struct {
	n  *yaml.Node
	at map[string]int
}

// NewMapIndex indexes the keys of a map.
func NewMapIndex(n *yaml.Node) MapIndex {
	x := MapIndex{n: n, at: map[string]int{}}
	for i := len(n.Content) - 2; i >= 0; i -= 2 {
		x.at[n.Content[i].Value] = i + 1
	}
	return x
}

// Set sets a key of the map, like the function Set.
func (x MapIndex) Set(key string, value *yaml.Node) {
	if at, ok := x.at[key]; ok {
		x.n.Content[at] = value
		return
	}
	x.n.Content = append(x.n.Content, String(key), value)
	x.at[key] = len(x.n.Content) - 1
}

// Merge merges decoded JSON into a map: maps merge, other values and null replace.
func Merge(n *yaml.Node, over map[string]any) {
	into := NewMapIndex(n)
	for _, key := range slices.Sorted(maps.Keys(over)) {
		inner, isMap := over[key].(map[string]any)
		if at, ok := into.at[key]; ok && isMap && n.Content[at].Kind == yaml.MappingNode {
			Merge(n.Content[at], inner)
			continue
		}
		into.Set(key, Value(over[key]))
	}
}

// Plain decodes a tree to values for encoding/json.
func Plain(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for key, value := range Members(n) {
			m[key] = Plain(value)
		}
		return m
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			list[i] = Plain(item)
		}
		return list
	case yaml.ScalarNode, yaml.AliasNode, yaml.DocumentNode:
		// Trees contain neither aliases nor documents.
		return plainScalar(n)
	default:
		return nil
	}
}
