// SPDX-License-Identifier: Apache-2.0

package document

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Strings are written so that YAML 1.1 (PyYAML, the server) and YAML 1.2 agree: in 1.1, yes, on, 012, 1:30 and
// 2026-01-01 are not strings, and 1e5 is not a number.

// plainPattern matches strings that need no quotes in any YAML version.
var plainPattern = regexp.MustCompile(`^[A-Za-z/$][A-Za-z0-9_./:${}+@%=?&-]*$`)

// plainWords match plainPattern, but some YAML version does not read them as strings.
var plainWords = []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}

// String returns a string node, quoted unless every YAML version reads it as a string.
func String(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if !plainPattern.MatchString(s) || strings.HasSuffix(s, ":") || slices.Contains(plainWords, strings.ToLower(s)) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// Int returns an integer node.
func Int(i int64) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(i, 10)}
}

// Bool returns a boolean node.
func Bool(b bool) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(b)}
}

// floatNode always writes a dot: without one, YAML 1.1 reads an exponent as a string.
func floatNode(f float64) *yaml.Node {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if mantissa, exponent, scientific := strings.Cut(s, "e"); !strings.Contains(mantissa, ".") {
		s = mantissa + ".0"
		if scientific {
			s += "e" + exponent
		}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: s}
}

// Value encodes decoded JSON as a tree with sorted keys.
func Value(v any) *yaml.Node {
	switch v := v.(type) {
	case string:
		return String(v)
	case bool:
		return Bool(v)
	case int64:
		return Int(v)
	case float64:
		return floatNode(v)
	case []any:
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range v {
			list.Content = append(list.Content, Value(item))
		}
		return list
	case map[string]any:
		m := &yaml.Node{Kind: yaml.MappingNode}
		Merge(m, v)
		return m
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	}
}

// plainScalar decodes a scalar; values without a JSON form stay text.
func plainScalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool", "!!int", "!!float":
		var v any
		if n.Decode(&v) != nil {
			return n.Value
		}
		if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			return n.Value
		}
		return v
	default:
		return n.Value
	}
}
