// SPDX-License-Identifier: Apache-2.0

package config

import (
	"iter"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

// child returns the value of a key of a map, and nil where n is no map, or the key is absent or null.
func child(n *yaml.Node, key string) *yaml.Node {
	if at := indexOf(n, key); at >= 0 && !isNull(n.Content[at]) {
		return n.Content[at]
	}
	return nil
}

// descend returns what lies under keys, each in the map of the one before; nil where one is absent.
func descend(n *yaml.Node, path []string) *yaml.Node {
	for _, key := range path {
		n = child(n, key)
	}
	return n
}

// indexOf returns the position of a key's value in a map, or -1.
func indexOf(n *yaml.Node, key string) int {
	if n == nil || n.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return i + 1
		}
	}
	return -1
}

// set gives a key of a map a value: in its place where the key is there, else at the end.
func set(n *yaml.Node, key string, value *yaml.Node) {
	if at := indexOf(n, key); at >= 0 {
		n.Content[at] = value
		return
	}
	n.Content = append(n.Content, stringNode(key), value)
}

// ensure returns the value of a key of a map, of the given kind; an absent or null one is made.
func ensure(n *yaml.Node, key string, kind yaml.Kind) *yaml.Node {
	if v := child(n, key); v != nil && v.Kind == kind {
		return v
	}
	v := &yaml.Node{Kind: kind}
	set(n, key, v)
	return v
}

// drop takes a key out of a map.
func drop(n *yaml.Node, key string) {
	for at := indexOf(n, key); at >= 0; at = indexOf(n, key) {
		n.Content = slices.Delete(n.Content, at-1, at+1)
	}
}

// keys returns the keys of a map in their order.
func keys(n *yaml.Node) []string {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	names := make([]string, 0, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		names = append(names, n.Content[i].Value)
	}
	return names
}

// members returns the keys of a map with their values, in their order.
func members(n *yaml.Node) iter.Seq2[string, *yaml.Node] {
	return func(yield func(string, *yaml.Node) bool) {
		if n == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i].Value, n.Content[i+1]) {
				return
			}
		}
	}
}

// items returns the items of a list.
func items(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// text returns the text of a scalar, and the empty string for anything else.
func text(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// clone copies a tree. Trees hold no aliases: ParseBase expands them.
func clone(n *yaml.Node) *yaml.Node {
	nodes, links := size(n)
	s := slab{nodes: make([]yaml.Node, nodes), links: make([]*yaml.Node, links)}
	return s.copy(n)
}

// size counts the nodes of a tree and the links between them.
func size(n *yaml.Node) (nodes, links int) {
	nodes, links = 1, len(n.Content)
	for _, inner := range n.Content {
		innerNodes, innerLinks := size(inner)
		nodes, links = nodes+innerNodes, links+innerLinks
	}
	return nodes, links
}

// slab is the memory of a tree in two pieces: a tree of a thousand nodes is copied for each generation.
type slab struct {
	nodes []yaml.Node
	links []*yaml.Node
}

func (s *slab) copy(n *yaml.Node) *yaml.Node {
	c := &s.nodes[0]
	s.nodes = s.nodes[1:]
	*c = *n
	if count := len(n.Content); count > 0 {
		c.Content = s.links[:count:count] // what is appended later goes elsewhere
		s.links = s.links[count:]
		for i, inner := range n.Content {
			c.Content[i] = s.copy(inner)
		}
	}
	return c
}

// same tells whether two trees are written alike.
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

// mapIndex sets keys of a map without looking through all of it each time. Nobody else may change the map meanwhile.
type mapIndex struct {
	n *yaml.Node
	// at are the positions of the values.
	at map[string]int
}

func newMapIndex(n *yaml.Node) mapIndex {
	x := mapIndex{n: n, at: make(map[string]int, len(n.Content)/2)}
	for i := len(n.Content) - 2; i >= 0; i -= 2 {
		x.at[n.Content[i].Value] = i + 1
	}
	return x
}

// set does what set does.
func (x mapIndex) set(key string, value *yaml.Node) {
	if at, ok := x.at[key]; ok {
		x.n.Content[at] = value
		return
	}
	x.n.Content = append(x.n.Content, stringNode(key), value)
	x.at[key] = len(x.n.Content) - 1
}

// merge lays decoded JSON over a map: maps merge, everything else replaces; null is a value like any other.
func merge(n *yaml.Node, over map[string]any) {
	into := newMapIndex(n)
	for _, key := range slices.Sorted(maps.Keys(over)) {
		inner, isMap := over[key].(map[string]any)
		if at, ok := into.at[key]; ok && isMap && n.Content[at].Kind == yaml.MappingNode {
			merge(n.Content[at], inner)
			continue
		}
		into.set(key, valueNode(over[key]))
	}
}

// plain turns a tree into what encoding/json can write.
func plain(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			m[n.Content[i].Value] = plain(n.Content[i+1])
		}
		return m
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			list[i] = plain(item)
		}
		return list
	case yaml.ScalarNode, yaml.AliasNode, yaml.DocumentNode:
		// Trees hold neither aliases nor documents.
		return plainScalar(n)
	default:
		return nil
	}
}
