// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// piece is a part of a configuration that is written on its own: a top-level section, or the providers of one API. Most pieces of a base
// come out of a generation as they went in, and their text is kept.
type piece struct {
	// section is the top-level key, and api the key under providers; the latter is empty for a whole section.
	section, api string
}

// written is a piece of a base with its text, which is made when it is asked for first.
type written struct {
	value *yaml.Node
	text  func() ([]byte, error)
}

// pieces cuts a tree. The order is that of the text.
func pieces(root *yaml.Node, each func(p piece, key, value *yaml.Node) error) error {
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if key.Value != "providers" || value.Kind != yaml.MappingNode || len(value.Content) == 0 {
			if err := each(piece{section: key.Value}, key, value); err != nil {
				return err
			}
			continue
		}
		for j := 0; j+1 < len(value.Content); j += 2 {
			if err := each(piece{section: key.Value, api: value.Content[j].Value}, value.Content[j], value.Content[j+1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepTexts prepares the texts of all pieces of a base.
func keepTexts(root *yaml.Node) map[piece]written {
	texts := map[piece]written{}
	_ = pieces(root, func(p piece, key, value *yaml.Node) error {
		texts[p] = written{value: value, text: sync.OnceValues(func() ([]byte, error) { return p.write(key, value) })}
		return nil
	})
	return texts
}

// write encodes a piece as it stands in the whole text.
func (p piece) write(key, value *yaml.Node) ([]byte, error) {
	tree, head := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{key, value}}, ""
	if p.api != "" {
		tree, head = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{stringNode(p.section), tree}}, p.section+":\n"
	}
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(tree); err != nil {
		return nil, err
	}
	err := encoder.Close()
	return bytes.TrimPrefix(b.Bytes(), []byte(head)), err
}

// render writes the tree. The header says nothing that changes without the content.
func (g *generation) render() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Generated for the %s %s/%s: edit that resource, not this file.\n", v1alpha2.Kind, g.Namespace, g.Name)
	fmt.Fprintf(&b, "# Server release line: %s\n# Base configuration: %s\n", g.Line.Name, oneLine(g.Base.name))
	before := ""
	err := pieces(g.root, func(p piece, key, value *yaml.Node) error {
		if p.api != "" && p.section != before {
			b.WriteString(p.section + ":\n")
		}
		before = p.section
		text, err := g.Base.textOf(p, key, value)
		b.Write(text)
		return err
	})
	return b.Bytes(), err
}

// textOf writes a piece, or takes the text that the base has of the same.
func (b *Base) textOf(p piece, key, value *yaml.Node) ([]byte, error) {
	if kept, ok := b.texts[p]; ok && same(kept.value, value) {
		return kept.text()
	}
	return p.write(key, value)
}

// oneLine keeps a name from ending the comment that it stands in.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return -1
		}
		return r
	}, s)
}
