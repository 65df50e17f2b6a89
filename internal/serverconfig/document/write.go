// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// piece is a separately encoded part of a configuration: a section, the providers of an API, or one provider. The text
// of unchanged pieces is reused.
type piece struct {
	// section is the top-level key, api the key under providers, and id the provider_id; the last two are optional.
	section, api, id string
	// keys are the nodes of section and api, and value is the content or the entry.
	keys  [2]*yaml.Node
	value *yaml.Node
	// heads are the lines above the piece that it shares with others.
	heads []string
}

type pieceKey struct{ section, api, id string }

func (p *piece) key() pieceKey { return pieceKey{p.section, p.api, p.id} }

// pieces splits a tree, in the order of the text.
func pieces(root *yaml.Node) []piece {
	var cut []piece
	for pair := range slices.Chunk(root.Content, 2) {
		section := piece{section: pair[0].Value, keys: [2]*yaml.Node{pair[0]}, value: pair[1]}
		if section.section != "providers" || section.value.Kind != yaml.MappingNode || len(section.value.Content) == 0 {
			cut = append(cut, section)
			continue
		}
		for pair := range slices.Chunk(section.value.Content, 2) {
			api := section
			api.heads = []string{section.section + ":\n"}
			api.keys[1], api.value = pair[0], pair[1]
			api.api = api.keys[1].Value
			cut = append(cut, entries(api)...)
		}
	}
	return cut
}

// entries splits the providers of an API; it keeps a list whole if a key or id is unusual.
func entries(api piece) []piece {
	list := Items(api.value)
	plainKey := api.api != "" && api.keys[1].Style == 0 && String(api.api).Style == 0
	if len(list) == 0 || !plainKey {
		return []piece{api}
	}
	cut, heads := make([]piece, len(list)), []string{api.heads[0], "  " + api.api + ":\n"}
	for i, entry := range list {
		id := Text(Child(entry, "provider_id"))
		if id == "" {
			return []piece{api}
		}
		cut[i] = api
		cut[i].id, cut[i].value, cut[i].heads = id, entry, heads
	}
	return cut
}

// encodedPiece is a piece of a base with its text, which is encoded on first use.
type encodedPiece struct {
	value *yaml.Node
	text  func() ([]byte, error)
}

// prepareTexts prepares the texts of all pieces of a base.
func prepareTexts(root *yaml.Node) map[pieceKey]encodedPiece {
	texts := map[pieceKey]encodedPiece{}
	for _, p := range pieces(root) {
		texts[p.key()] = encodedPiece{value: p.value, text: sync.OnceValues(func() ([]byte,
			error) {
			return p.write(limits.ConfigBytes)
		})}
	}
	return texts
}

// ErrTooLarge means that the output exceeds limits.ConfigBytes.
var ErrTooLarge = errors.New("larger than a config.yaml may be")

// limitedBuffer is a buffer with a maximum size, to stop early on deep indentation.
type limitedBuffer struct {
	bytes.Buffer
	remaining int
}

func (b *limitedBuffer) Write(text []byte) (int, error) {
	if b.remaining -= len(text); b.remaining < 0 {
		return 0, ErrTooLarge
	}
	return b.Buffer.Write(text)
}

// write encodes a piece without its heads, in at most that many bytes.
func (p *piece) write(limit int) ([]byte, error) {
	tree := p.value
	if p.id != "" {
		tree = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{tree}}
	}
	if p.api != "" {
		tree = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{p.keys[1], tree}}
	}
	tree = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{String(p.section), tree}}
	if p.api == "" {
		tree.Content[0] = p.keys[0]
	}
	heads := strings.Join(p.heads, "")
	text, err := encode(tree, limit+len(heads), chunkNodes)
	return bytes.TrimPrefix(text, []byte(heads)), err
}

// Write returns the document as YAML below a header comment. It fails if it exceeds ConfigBytes or the context ends.
func (d *Document) Write(ctx context.Context, header string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(header)
	var above []string
	for _, p := range pieces(d.root) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		for i, head := range p.heads {
			if i >= len(above) || above[i] != head {
				b.WriteString(head)
			}
		}
		above = p.heads
		text, err := d.base.textOf(&p)
		if err != nil {
			return nil, err
		}
		if b.Len()+len(text) > limits.ConfigBytes {
			return nil, ErrTooLarge
		}
		b.Write(text)
	}
	return b.Bytes(), nil
}

// textOf returns the text of a piece, and reuses that of the base if the piece is unchanged.
func (b *Base) textOf(p *piece) ([]byte, error) {
	if kept, ok := b.texts[p.key()]; ok && same(kept.value, p.value) {
		return kept.text()
	}
	return p.write(limits.ConfigBytes)
}

// oneLine removes line breaks and control characters from a name in a comment.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return -1
		}
		return r
	}, s)
}
