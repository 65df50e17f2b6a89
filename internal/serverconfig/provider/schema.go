// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// schema describes the config of a provider type on a release line.
type schema struct {
	line *catalog.Line
	// api is the server's name of the API, and name the full type: "remote::vllm".
	api, name string
	// row is nil for an unknown type.
	row *catalog.Provider
}

func schemaOf(line *catalog.Line, api, written string) schema {
	s := schema{line: line, api: api, name: line.FullType(api, written)}
	if row, known := line.Provider(api, s.name); known {
		s.row = row
	}
	return s
}

// fields returns the config fields by name; nil for an unknown type.
func (s schema) fields() map[string]catalog.Field {
	if s.row == nil {
		return nil
	}
	return s.row.Fields
}

// canonical returns the field that a name is an alias of, or else the name.
func (s schema) canonical(name string) string {
	if field := s.fields()[name]; field.AliasOf != "" {
		return field.AliasOf
	}
	return name
}

// find returns the field for a name in camelCase or snake_case. An unknown type accepts any name.
func (s schema) find(written string) (string, bool) {
	folded := SnakeCase(written)
	if s.row == nil {
		return folded, true
	}
	for _, name := range []string{written, folded} {
		if _, ok := s.row.Fields[name]; ok {
			return s.canonical(name), true
		}
	}
	return "", false
}

// inner returns the fields of a map, or nil if they are free.
func (s schema) inner(field catalog.Field) map[string]catalog.Field {
	switch {
	case field.Object != "":
		return s.line.Objects[field.Object]
	case field.Store != "":
		return field.Store.ReferenceFields()
	}
	return nil
}

// dropAliases removes the aliases of a field that is about to be set, because the server might read an alias first.
func (s schema) dropAliases(config *yaml.Node, name string) {
	for alias, field := range s.fields() {
		if field.AliasOf == name {
			document.Drop(config, alias)
		}
	}
}

// dropOtherKinds removes fields of the base that do not belong to the kind of map in the settings.
func (s schema) dropOtherKinds(config *yaml.Node, settings map[string]any) {
	for name, value := range settings {
		written, ok := value.(map[string]any)
		if !ok {
			continue
		}
		n, fields := document.Child(config, name), s.inner(s.fields()[name])
		chosen := catalog.FieldsForKind(fields, func(name string) string { return document.Text(document.Child(n, name)) })
		for key := range fields {
			_, belongs := chosen[key]
			if _, set := written[key]; !belongs && !set {
				document.Drop(n, key)
			}
		}
	}
}

// alternatives returns the types of the API without deprecated and refused ones, in short form.
func (s schema) alternatives() []string {
	var names []string
	for i := range s.line.Rows[s.api] {
		if row := &s.line.Rows[s.api][i]; !row.Refused && !row.Deprecated {
			names = append(names, row.Type[strings.Index(row.Type, "::")+2:])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
