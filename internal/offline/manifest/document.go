// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// Document is one object in a file.
type Document struct {
	// File is the file name as given; "stdin" for standard input.
	File string
	// Line is the first line of the object, from 1.
	Line int
	// Object is the content as JSON data.
	Object map[string]any

	node *yaml.Node
	// text is the document in its file, and begin its first line; empty for an item of a list.
	text  []byte
	begin int
}

// Text returns the document as its file has it, with comments, and its first line. An item of a list has no text.
func (d *Document) Text() (text []byte, line int) { return d.text, d.begin }

// APIVersion returns the apiVersion; may be empty.
func (d *Document) APIVersion() string { return textAt(d.Object, "apiVersion") }

// Kind returns the kind; may be empty.
func (d *Document) Kind() string { return textAt(d.Object, "kind") }

// Name returns metadata.name; may be empty.
func (d *Document) Name() string {
	metadata, _ := d.Object["metadata"].(map[string]any)
	return textAt(metadata, "name")
}

// GenerateName returns metadata.generateName; may be empty.
func (d *Document) GenerateName() string {
	metadata, _ := d.Object["metadata"].(map[string]any)
	return textAt(metadata, "generateName")
}

// Namespace returns metadata.namespace; may be empty.
func (d *Document) Namespace() string {
	metadata, _ := d.Object["metadata"].(map[string]any)
	return textAt(metadata, "namespace")
}

// Position returns "file:line".
func (d *Document) Position() string { return position(d.File, d.Line) }

func position(file string, line int) string { return fmt.Sprintf("%s:%d", file, line) }

func textAt(m map[string]any, key string) string {
	text, _ := m[key].(string)
	return text
}

// LineOf returns the line of a field, such as spec.resources.models[1].name, or of its nearest existing parent.
func (d *Document) LineOf(path string) int {
	line, _ := d.find(path)
	return line
}

// LineInText returns the line of a line, from 1, in the text of a field. It is that of the field if the text is not
// written as it is, with "|".
func (d *Document) LineInText(path string, in int) int {
	line, node := d.find(path)
	if node != nil && node.Style&yaml.LiteralStyle != 0 {
		return node.Line + in
	}
	return line
}

// find returns the line and the value of a field, or of its nearest existing parent.
func (d *Document) find(path string) (line int, node *yaml.Node) {
	line, node = d.Line, d.node
	for _, step := range steps(path) {
		key, value := descend(node, step)
		if value == nil {
			break
		}
		line, node = key.Line, value
	}
	return line, node
}

// steps splits a path at dots and brackets: a[0].b[x.y] becomes a, 0, b and x.y.
func steps(path string) []string {
	var list []string
	for path != "" {
		var step string
		if rest, bracket := strings.CutPrefix(path, "["); bracket {
			step, path, _ = strings.Cut(rest, "]")
			step = strings.Trim(step, `"'`)
		} else if end := strings.IndexAny(path, ".["); end >= 0 {
			step, path = path[:end], path[end:]
		} else {
			step, path = path, ""
		}
		path = strings.TrimPrefix(path, ".")
		list = append(list, step)
	}
	return list
}

// descend returns the first node and the value of a field; nil if it does not exist.
func descend(n *yaml.Node, step string) (begin, value *yaml.Node) {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case n == nil:
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == step {
				return n.Content[i], n.Content[i+1]
			}
		}
	case n.Kind == yaml.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i], n.Content[i]
		}
	}
	return nil, nil
}

// parse parses the document that starts at the line; nil if it is empty or not an object.
func parse(file string, line int, text []byte) (*Document, error) {
	tooLarge := func(excess *limits.ExcessError) error {
		return &SyntaxError{File: file, Line: line, Reason: "too large: " + excess.Error()}
	}
	bounds := limits.Limits{Bytes: maxDocument, Levels: maxLevels, Nodes: maxValues}
	if len(text) > bounds.Bytes {
		return nil, tooLarge(&limits.ExcessError{Unit: limits.Bytes, Limit: bounds.Bytes})
	}
	asJSON, inJSON := text, isJSON(text)
	tree := text
	if inJSON {
		if _, excess := limits.Scan(text, bounds); excess != nil {
			return nil, tooLarge(excess)
		}
		tree = withoutSurrogates(text)
	} else if excess := limits.ScanYAML(text, bounds); excess != nil {
		return nil, tooLarge(excess)
	}
	// Padding makes line numbers relative to the file.
	padded := func(text []byte) []byte { return append([]byte(strings.Repeat("\n", line-1)), text...) }
	var root yaml.Node
	switch err := yaml.Unmarshal(padded(tree), &root); {
	case err != nil && !inJSON:
		return nil, notYAML(file, line, text, err)
	case err != nil: // valid JSON, such as with tabs: only the lines are unknown
		root = yaml.Node{}
	}
	if !inJSON {
		if excess := (&expansion{}).add(&root, 0); excess != nil {
			return nil, tooLarge(excess)
		}
		var err error
		if asJSON, err = sigsyaml.YAMLToJSONStrict(padded(text)); err != nil {
			return nil, notYAML(file, line, text, err)
		}
	}
	var content any
	strict, err := kjson.UnmarshalStrict(asJSON, &content)
	if err == nil {
		err = errors.Join(strict...) // duplicate keys
	}
	if err != nil {
		return nil, &SyntaxError{File: file, Line: line, Reason: "not JSON: " + oneLine(err)}
	}
	object, ok := content.(map[string]any)
	if !ok {
		return nil, nil
	}
	if len(root.Content) == 0 {
		return &Document{File: file, Line: line, Object: object, text: text, begin: line}, nil
	}
	return &Document{File: file, Line: root.Content[0].Line, Object: object, node: root.Content[0], text: text,
		begin: line}, nil
}

// isJSON reports whether the text is a JSON object.
func isJSON(text []byte) bool {
	trimmed := bytes.TrimSpace(text)
	return len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed)
}

var surrogates = regexp.MustCompile(`(?i)(\\\\)|\\ud[89ab][0-9a-f]{2}(\\ud[c-f][0-9a-f]{2})?|\\ud[c-f][0-9a-f]{2}`)

// withoutSurrogates replaces surrogate pairs, which the YAML parser rejects; the result is used only for line numbers.
func withoutSurrogates(text []byte) []byte {
	return surrogates.ReplaceAllFunc(text, func(escape []byte) []byte {
		if bytes.Equal(escape, []byte(`\\`)) {
			return escape
		}
		return []byte("?")
	})
}

// SyntaxError means that a document cannot be parsed.
type SyntaxError struct {
	// File and Line are the position.
	File string
	Line int
	// Reason is the cause.
	Reason string
	// Helm reports whether the document looks like a Helm template.
	Helm bool
}

// notYAML returns the error for a document that starts at the line.
func notYAML(file string, line int, text []byte, err error) *SyntaxError {
	e := &SyntaxError{File: file, Line: lineIn(err, line), Reason: "not YAML: " + oneLine(err)}
	if at := helmLineIn(text); at > 0 {
		e.Line, e.Helm = line+at-1, true
		e.Reason += ": this looks like a Helm template: pass what helm template prints"
	}
	return e
}

// Error returns the position and the reason.
func (e *SyntaxError) Error() string { return position(e.File, e.Line) + ": " + e.Reason }

// AsSyntaxError returns the SyntaxError in a chain of errors.
func AsSyntaxError(err error) (*SyntaxError, bool) {
	var e *SyntaxError
	ok := errors.As(err, &e)
	return e, ok
}

var lineNumber = regexp.MustCompile(`\bline (\d+)`)

// lineIn returns the line in a YAML error, or the given one. The library has the line only in its text.
func lineIn(err error, line int) int {
	if m := lineNumber.FindStringSubmatch(err.Error()); m != nil {
		line, _ = strconv.Atoi(m[1])
	}
	return line
}

func oneLine(err error) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "yaml: ", "")), " ")
}

// items returns the objects of a list, or the document itself.
func (d *Document) items() []*Document {
	list, ok := d.Object["items"].([]any)
	if !ok || !strings.HasSuffix(d.Kind(), "List") {
		return []*Document{d}
	}
	_, nodes := descend(d.node, "items")
	var docs []*Document
	for i, item := range list {
		object, ok := item.(map[string]any)
		if !ok {
			continue
		}
		begin, node := descend(nodes, strconv.Itoa(i))
		if node == nil {
			begin = d.node
		}
		docs = append(docs, &Document{File: d.File, Line: begin.Line, Object: object, node: node})
	}
	return docs
}
