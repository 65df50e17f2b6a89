// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"errors"
	"strings"

	"go.yaml.in/yaml/v3"
)

// chunkNodes is the size of a chunk: the YAML library keeps about 200 bytes for each node while it writes.
const chunkNodes = 100

// chunkWriter writes a tree in chunks, with the same text as the library writes for the whole tree.
type chunkWriter struct {
	text  bytes.Buffer
	limit int
	nodes int
}

// encode writes a map or list of at most that many bytes. The error is ErrTooLarge or an encoding error.
func encode(root *yaml.Node, limit, nodes int) ([]byte, error) {
	w := &chunkWriter{limit: limit, nodes: nodes}
	if !inBlocks(root) {
		return nil, errors.New("neither a map nor a list in the usual form")
	}
	err := w.block(root, 0)
	return w.text.Bytes(), err
}

// inBlocks reports whether a node is a non-empty map or list in block style, without tag or anchor.
func inBlocks(n *yaml.Node) bool {
	isMap, isList := n.Kind == yaml.MappingNode, n.Kind == yaml.SequenceNode
	usual := n.Tag == "" || isMap && n.ShortTag() == "!!map" || isList && n.ShortTag() == "!!seq"
	return (isMap || isList) && usual && n.Style == 0 && n.Anchor == "" && len(n.Content) > 0
}

// count returns the number of nodes in a tree, or any number above most.
func count(n *yaml.Node, limit int) int {
	total := 1
	for _, inner := range n.Content {
		if total > limit {
			break
		}
		total += count(inner, limit-total)
	}
	return total
}

// block writes a map or list whose lines begin in a column.
func (w *chunkWriter) block(n *yaml.Node, column int) error {
	step := 1
	if n.Kind == yaml.MappingNode {
		step = 2 // keys and values
	}
	begin, size := 0, 0
	chunk := func(end int) error {
		from := begin
		begin, size = end, 0
		return w.chunk(&yaml.Node{Kind: n.Kind, Content: n.Content[from:end]}, column)
	}
	for i := 0; i < len(n.Content); i += step {
		item := n.Content[i : i+step]
		value := item[step-1]
		nodes := count(value, w.nodes)
		if nodes > w.nodes && inBlocks(value) {
			if err := chunk(i); err != nil {
				return err
			}
			if err := w.item(item, column); err != nil {
				return err
			}
			begin = i + step
			continue
		}
		if size += nodes; size >= w.nodes {
			if err := chunk(i + step); err != nil {
				return err
			}
		}
	}
	return chunk(len(n.Content))
}

// item writes a map entry or list item whose value exceeds a chunk.
func (w *chunkWriter) item(item []*yaml.Node, column int) error {
	value := item[len(item)-1]
	if len(item) == 1 {
		begin := w.text.Len()
		err := w.block(value, column+indent)
		if err == nil {
			w.text.Bytes()[begin+column] = '-'
		}
		return err
	}
	const placeholder = " x\n"
	key := &chunkWriter{limit: w.limit, nodes: w.nodes}
	err := key.chunk(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{item[0], String("x")}}, column)
	line, simple := strings.CutSuffix(key.text.String(), placeholder)
	if err != nil || !simple || strings.Contains(line, "\n") {
		return w.chunk(&yaml.Node{Kind: yaml.MappingNode, Content: item}, column)
	}
	if err := w.write([]byte(line + "\n")); err != nil {
		return err
	}
	if value.Kind == yaml.MappingNode {
		column += indent // lists begin in the column of their key
	}
	return w.block(value, column)
}

// indent is the indentation of one level.
const indent = 2

// chunk writes a map or list whose lines begin in a column, by nesting it in placeholder keys for the library.
func (w *chunkWriter) chunk(n *yaml.Node, column int) error {
	if len(n.Content) == 0 {
		return nil
	}
	levels := column / indent
	if n.Kind == yaml.SequenceNode {
		levels++
	}
	var above strings.Builder
	for level := range levels {
		above.WriteString(strings.Repeat(" ", level*indent) + "k:\n")
		n = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{String("k"), n}}
	}
	b := limitedBuffer{remaining: w.limit - w.text.Len() + above.Len()}
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(indent)
	encoder.CompactSeqIndent()
	err := errors.Join(encoder.Encode(n), encoder.Close())
	if b.remaining < 0 {
		return ErrTooLarge // the encoder wraps the error
	}
	if err != nil {
		return err
	}
	return w.write(b.Bytes()[above.Len():])
}

func (w *chunkWriter) write(text []byte) error {
	if w.text.Len()+len(text) > w.limit {
		return ErrTooLarge
	}
	w.text.Write(text)
	return nil
}
