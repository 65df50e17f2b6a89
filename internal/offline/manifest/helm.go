// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"regexp"

	"go.yaml.in/yaml/v3"
)

var (
	// helmAction matches an action of a Helm template, but not an expression of Jinja, such as {{ name }}.
	helmAction = regexp.MustCompile(`\{\{-?\s*([.$(]|/\*|(if|else|end|range|with|define|block|template|include|tpl|toYaml|` +
		`printf|default|required|lookup|quote)\b)`)
	// helmObject matches an action with an object that only Helm has.
	helmObject = regexp.MustCompile(`\{\{[^}]*[.](Values|Release|Chart|Capabilities)\b`)
)

// HelmLine returns the line of the first value that a Helm template fills in; 0 if there is none.
func (d *Document) HelmLine() int {
	if d.node == nil {
		return 0
	}
	return helmLineOf(d.node)
}

func helmLineOf(n *yaml.Node) int {
	if n.Kind == yaml.ScalarNode && helmObject.MatchString(n.Value) {
		return n.Line
	}
	for _, inner := range n.Content { // without aliases, whose nodes have their own place in the tree
		if line := helmLineOf(inner); line > 0 {
			return line
		}
	}
	return 0
}

// helmLineIn returns the first line of a text with an action of Helm outside of comments; 0 if there is none.
func helmLineIn(text []byte) int {
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("#")) && helmAction.Match(line) {
			return number
		}
	}
	return 0
}
