// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

const license = "# SPDX-License-Identifier: Apache-2.0\n#\n"

func encodeLine(line *catalog.Line) ([]byte, error) {
	header := fmt.Sprintf(
		"%s# %s\n# Schema of the servers of release line %s, from the package %s %s and overlay.yaml.\n",
		license,
		generatedMark,
		line.Name,
		line.Package,
		line.Release,
	)
	if len(line.Patches) > 0 {
		header += "# The section patches has the differences of older patch releases; null means that they do not have the key.\n"
	}
	return encode(header, line)
}

// encodeIndex returns the file that lists the APIs of the release lines.
func encodeIndex(lines []*catalog.Line, over *overlay) ([]byte, error) {
	type history struct {
		Lines   []string `yaml:"lines"`
		Instead string   `yaml:"instead,omitempty"`
	}
	index := struct {
		APIs       map[string]history `yaml:"apis"`
		ToolGroups map[string]string  `yaml:"toolGroups"`
	}{map[string]history{}, over.ToolGroups}
	for api, entry := range over.APIs {
		index.APIs[api] = history{Lines: []string{}, Instead: entry.Instead}
	}
	for _, line := range lines {
		for api := range line.APIs {
			known := index.APIs[api]
			known.Lines = append(known.Lines, line.Name)
			index.APIs[api] = known
		}
	}
	return encode(
		license+"# "+generatedMark+"\n# The APIs of all release lines, from their files and from overlay.yaml.\n",
		index,
	)
}

// encode returns YAML with flat values on one line.
func encode(header string, value any) ([]byte, error) {
	var node yaml.Node
	if err := node.Encode(value); err != nil {
		return nil, err
	}
	flatten(&node)
	var b bytes.Buffer
	b.WriteString(header)
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(&node); err != nil {
		return nil, err
	}
	return b.Bytes(), encoder.Close()
}

// flatten sets the flow style of lists of scalars, and of maps of scalars and such lists, except for the whole document
// and the items of lists.
func flatten(n *yaml.Node) {
	for _, child := range n.Content {
		flatten(child)
		if n.Kind == yaml.MappingNode && isFlat(child) {
			child.Style = yaml.FlowStyle
		}
	}
}

// isFlat reports whether a value is a list of scalars, or a map of scalars and such lists.
func isFlat(n *yaml.Node) bool {
	for _, child := range n.Content {
		listOfScalars := child.Kind == yaml.SequenceNode && n.Kind == yaml.MappingNode && isFlat(child)
		if child.Kind != yaml.ScalarNode && !listOfScalars {
			return false
		}
	}
	return n.Kind != yaml.ScalarNode
}
