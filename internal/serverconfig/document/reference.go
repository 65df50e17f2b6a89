// SPDX-License-Identifier: Apache-2.0

package document

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// envPattern matches the server's environment references: ${env.X}, ${env.X:=default} and ${env.X:+value if set}.
var envPattern = regexp.MustCompile(`\$\{env\.([A-Z0-9_]+)(?::([=+])([^}]*))?\}`)

const (
	// OrElse gives the value if the variable is not set.
	OrElse = "="
	// IfSet gives the value if the variable is set, otherwise nothing.
	IfSet = "+"
)

// Reference is a reference to an environment variable of the server.
type Reference struct {
	Name string
	// Operator is OrElse, IfSet or empty; without an operator, the variable must be set.
	Operator string
	Value    string
}

// HasDefault reports whether the reference has a non-empty default.
func (r Reference) HasDefault() bool { return r.Operator == OrElse && r.Value != "" }

// WholeReference parses a text that is one environment reference. It is faster than envPattern.
func WholeReference(s string) (Reference, bool) {
	rest, ok := strings.CutPrefix(s, "${env.")
	rest, closed := strings.CutSuffix(rest, "}")
	if !ok || !closed {
		return Reference{}, false
	}
	name, value, conditional := strings.Cut(rest, ":")
	operator := ""
	if conditional {
		if value == "" || value[0] != '=' && value[0] != '+' {
			return Reference{}, false
		}
		operator, value = value[:1], value[1:]
	}
	other := func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' }
	if name == "" || strings.ContainsFunc(name, other) || strings.Contains(value, "}") {
		return Reference{}, false
	}
	return Reference{Name: name, Operator: operator, Value: value}, true
}

// IsReference reports whether a text consists of one environment reference.
func IsReference(s string) bool {
	_, ok := WholeReference(s)
	return ok
}

// HasReference reports whether a text contains an environment reference.
func HasReference(s string) bool { return strings.Contains(s, "${env.") && envPattern.MatchString(s) }

// References returns the environment references in a text, in order.
func References(s string) []Reference {
	if !strings.Contains(s, "${env.") {
		return nil
	}
	var found []Reference
	for _, m := range envPattern.FindAllStringSubmatch(s, -1) {
		found = append(found, Reference{Name: m[1], Operator: m[2], Value: m[3]})
	}
	return found
}

// ReplaceReferences replaces each environment reference in a text by its value.
func ReplaceReferences(s string, value func(Reference) string) string {
	if !strings.Contains(s, "${env.") {
		return s
	}
	return envPattern.ReplaceAllStringFunc(s, func(match string) string { return value(References(match)[0]) })
}

// WithoutReferences removes the environment references from a text.
func WithoutReferences(s string) string { return envPattern.ReplaceAllString(s, "") }

// MaskReferences replaces environment references by zeros of the same length, so that a text parses as a URL or path.
func MaskReferences(s string) string {
	return envPattern.ReplaceAllStringFunc(s, func(ref string) string { return strings.Repeat("0", len(ref)) })
}

// ReferenceTo returns a reference to an environment variable that must be set.
func ReferenceTo(name string) string { return "${env." + name + "}" }

// VariablesIn returns the environment variables that a tree refers to, in order and with duplicates.
func VariablesIn(n *yaml.Node) []string { return variablesIn(n, func(Reference) bool { return true }) }

// RequiredVariables returns the environment variables that a tree refers to without an operator.
func RequiredVariables(n *yaml.Node) []string {
	return variablesIn(n, func(r Reference) bool { return r.Operator == "" })
}

func variablesIn(n *yaml.Node, counts func(Reference) bool) []string {
	var names []string
	if n.Kind == yaml.ScalarNode {
		for _, r := range References(n.Value) {
			if counts(r) {
				names = append(names, r.Name)
			}
		}
	}
	for _, inner := range n.Content {
		names = append(names, variablesIn(inner, counts)...)
	}
	return names
}
