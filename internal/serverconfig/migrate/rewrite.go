// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"errors"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// Rewrite rewrites a config.yaml for a release line. Comments and order stay, aliases are written out. A file that
// suits the release line is returned unchanged. The error is a *document.BaseError.
func Rewrite(content []byte, line *catalog.Line) ([]byte, []Change, error) {
	if _, err := document.ParseBase("", content); err != nil {
		return nil, nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(content, &doc); err != nil {
		return nil, nil, &document.BaseError{Reason: err.Error()} // does not happen: it was parsed before
	}
	compact := isCompact(doc.Content[0])
	doc.Content[0] = expander{}.expand(doc.Content[0])
	changes := ToLine(doc.Content[0], line)
	if !Changed(changes) {
		return content, changes, nil
	}
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if compact {
		encoder.CompactSeqIndent()
	}
	if err := errors.Join(encoder.Encode(&doc), encoder.Close()); err != nil {
		return nil, nil, &document.BaseError{Reason: err.Error()}
	}
	return b.Bytes(), changes, nil
}

// expander copies a tree without aliases and merge keys, and with its comments. document.Read has limited its size.
type expander struct {
	// inFlow means that the tree is in a map or list in flow style.
	inFlow bool
}

func (e expander) expand(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		c := e.expand(n.Alias)
		c.HeadComment, c.LineComment, c.FootComment, c.Line = n.HeadComment, n.LineComment, n.FootComment, n.Line
		return c
	}
	c := *n
	c.Anchor, c.Content = "", nil
	if document.IsNull(n) && (n.Style != 0 || e.inFlow) { // the encoder writes an empty text
		c.Style, c.Value, c.Tag = 0, "null", ""
	}
	e.inFlow = e.inFlow || n.Style&yaml.FlowStyle != 0
	var merged []*yaml.Node
	for i, item := range n.Content {
		switch {
		case n.Kind != yaml.MappingNode:
			c.Content = append(c.Content, e.expand(item))
		case i%2 == 0 && item.ShortTag() == "!!merge":
			merged = append(merged, e.expand(n.Content[i+1]))
		case i%2 == 0:
			c.Content = append(c.Content, e.expand(item), e.expand(n.Content[i+1]))
		}
	}
	for _, source := range merged {
		merge(&c, source)
	}
	return &c
}

// merge adds the keys of a map, or of a list of maps, that another map does not have.
func merge(n, source *yaml.Node) {
	if source.Kind == yaml.SequenceNode {
		for _, item := range source.Content {
			merge(n, item)
		}
	}
	for key, value := range document.Members(source) {
		if _, ok := document.IndexOf(n, key); !ok {
			document.Set(n, key, value)
		}
	}
}

// isCompact reports whether the first list in block style begins in the column of its key.
func isCompact(n *yaml.Node) bool {
	compact, found := listStyle(n)
	return compact || !found
}

func listStyle(n *yaml.Node) (compact, found bool) {
	for i, value := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && value.Kind == yaml.SequenceNode && value.Style&yaml.FlowStyle == 0 &&
			len(value.Content) > 0 {
			return value.Column <= n.Content[i-1].Column, true
		}
		if compact, found := listStyle(value); found {
			return compact, found
		}
	}
	return false, false
}
