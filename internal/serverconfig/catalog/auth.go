// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// AuthType describes a type of authentication: a value of server.auth.provider_config.type.
type AuthType struct {
	// Type is the server's name: "oauth2_token".
	Type string `yaml:"type"`
	// Short is an alias in the custom resource, such as "oauth2"; it may be empty.
	Short string `yaml:"short,omitempty"`
	// Source names the source of the hand-written part.
	Source string `yaml:"source,omitempty"`
	// OneOf are fields of which exactly one must be set.
	OneOf []string `yaml:"oneOf,omitempty"`
	// Secrets are the secret fields, sorted; a dot leads into a map: "introspection.client_secret".
	Secrets []string `yaml:"secrets,omitempty"`
	// Tenant is the field that says where a request has its tenant; empty if the type does not distinguish tenants.
	Tenant string `yaml:"tenant,omitempty"`
	// InCluster are the default settings for the API server of the cluster; empty for other types.
	InCluster map[string]any `yaml:"inCluster,omitempty"`
	// Networks are the fields with lists of networks.
	Networks []string `yaml:"networks,omitempty"`
	// Advice are optional fields that make the type safer.
	Advice []Advice `yaml:"advice,omitempty"`
	// Example holds example settings for the documentation and the matrix test.
	Example map[string]any `yaml:"example,omitempty"`
	// Fields are the fields of provider_config without type, by name.
	Fields map[string]Field `yaml:"fields"`
}

// Advice is an optional field whose absence causes a warning.
type Advice struct {
	Field string `yaml:"field"`
	// With is a field that the advice depends on, if any.
	With string `yaml:"with,omitempty"`
	Why  string `yaml:"why"`
}

// Names returns the names of the type in the custom resource, the short one first.
func (t *AuthType) Names() []string {
	if t.Short == "" || t.Short == t.Type {
		return []string{t.Type}
	}
	return []string{t.Short, t.Type}
}

// Rules are the features of policy rules on a release line.
type Rules struct {
	// RegexResources and RegexPaths report support for patterns such as "regex:model::llama-.*".
	RegexResources bool `yaml:"regexResources"`
	RegexPaths     bool `yaml:"regexPaths"`
	// Unowned reports support for the condition "resource is unowned".
	Unowned bool `yaml:"unowned"`
	// Resources are the types of resources, sorted: "model".
	Resources []string `yaml:"resources,omitempty"`
}

// AuthType returns the row of a type of authentication by one of its names.
func (l *Line) AuthType(name string) (*AuthType, bool) {
	for i := range l.Auth {
		if slices.Contains(l.Auth[i].Names(), name) {
			return &l.Auth[i], true
		}
	}
	return nil, false
}

// AuthNames returns the short names of the types of authentication, sorted.
func (l *Line) AuthNames() []string {
	names := make([]string, 0, len(l.Auth))
	for i := range l.Auth {
		names = append(names, l.Auth[i].Names()[0])
	}
	slices.Sort(names)
	return names
}

// AuthFields returns the fields of server.auth.
func (l *Line) AuthFields() map[string]Field { return l.Objects[l.ServerFields()["auth"].Object] }

func (l *Line) checkAuth() error {
	for i := range l.Auth {
		row := &l.Auth[i]
		if i > 0 && l.Auth[i-1].Type >= row.Type {
			return fmt.Errorf("auth: %s follows %s: rows must be sorted by type and unique", row.Type, l.Auth[i-1].Type)
		}
		named := append(slices.Clone(row.OneOf), row.Secrets...)
		named = slices.AppendSeq(append(named, row.Tenant), maps.Keys(row.Example))
		named = append(slices.AppendSeq(named, maps.Keys(row.InCluster)), row.Networks...)
		for _, advice := range row.Advice {
			named = append(named, advice.Field, advice.With)
		}
		for _, path := range named {
			if path == "" {
				continue
			}
			if _, ok := l.AuthField(row, path); !ok {
				return fmt.Errorf("auth %s: no such field: %s", row.Type, path)
			}
		}
		if err := l.checkFields(row.Fields); err != nil {
			return fmt.Errorf("auth %s: %w", row.Type, err)
		}
	}
	return nil
}

// AuthField returns a field of a type of authentication; a dot in the path leads into a map.
func (l *Line) AuthField(row *AuthType, path string) (Field, bool) {
	fields, names := row.Fields, strings.Split(path, ".")
	for i, name := range names {
		field, ok := fields[name]
		if !ok || i == len(names)-1 {
			return field, ok
		}
		fields = l.Objects[field.Object]
	}
	return Field{}, false
}
