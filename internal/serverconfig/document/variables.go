// SPDX-License-Identifier: Apache-2.0

package document

import "go.yaml.in/yaml/v3"

// Variables are the names of environment variables that are known to be set.
type Variables map[string]bool

// IsEmpty reports whether a value is empty after the server expands it.
func (v Variables) IsEmpty(n *yaml.Node) bool {
	if n == nil {
		return true
	}
	if n.Kind != yaml.ScalarNode {
		return false
	}
	ref, ok := WholeReference(n.Value)
	if !ok {
		return n.Value == ""
	}
	return !ref.HasDefault() && !v[ref.Name]
}

// HasValue reports whether a field has a value independently of the image's environment. A reference without an
// operator counts, because the server does not start without its variable.
func (v Variables) HasValue(n *yaml.Node) bool {
	ref, ok := WholeReference(Text(n))
	if !ok {
		return Text(n) != ""
	}
	return v[ref.Name] || ref.Operator == "" || ref.HasDefault()
}

// Enabled returns the providers that are enabled independently of the image's environment.
func (v Variables) Enabled(ids []Identity) []Identity {
	var enabled []Identity
	for _, id := range ids {
		if v.Enables(id) {
			enabled = append(enabled, id)
		}
	}
	return enabled
}

// Enables reports whether a provider is enabled independently of the image's environment.
func (v Variables) Enables(id Identity) bool {
	if id.Presence != Conditional {
		return id.Presence == Unconditional
	}
	// ${env.X:+id} is enabled when X is given, ${env.X:=id} when it is not.
	ref, ok := WholeReference(id.Raw)
	return ok && (ref.Operator == IfSet) == v[ref.Name]
}

// MayEnable reports whether a provider is enabled or depends on the value of another variable.
func (v Variables) MayEnable(id Identity) bool {
	if id.Presence == Disabled || id.Presence == Unconditional {
		return id.Presence == Unconditional
	}
	for _, ref := range References(id.Raw) {
		if (ref.Operator == IfSet || ref.Value == DisabledID) && !v[ref.Name] {
			return false
		}
	}
	return true
}

// MissingSwitch returns the environment variable that would enable a provider and is not set, or "".
func (v Variables) MissingSwitch(id Identity) string {
	ref, _ := WholeReference(id.Raw)
	if id.Presence != Conditional || ref.Operator != IfSet || v[ref.Name] {
		return ""
	}
	return ref.Name
}
