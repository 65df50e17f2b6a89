// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// schema is what a release line knows about the config of one provider type.
type schema struct {
	line *catalog.Line
	// api is the server's name of the API, and name the full type: "remote::vllm".
	api, name string
	// row is nil for a type that the release line does not know.
	row *catalog.Provider
}

func schemaOf(line *catalog.Line, api, written string) schema {
	s := schema{line: line, api: api, name: line.FullType(api, written)}
	if row, known := line.Provider(api, s.name); known {
		s.row = row
	}
	return s
}

// fields are the fields of the config by name; nil for an unknown type.
func (s schema) fields() map[string]catalog.Field {
	if s.row == nil {
		return nil
	}
	return s.row.Fields
}

// canonical returns the name of the field that a name stands for.
func (s schema) canonical(name string) string {
	if field := s.fields()[name]; field.AliasOf != "" {
		return field.AliasOf
	}
	return name
}

// find finds the field that the user means, by its own name; an unknown type takes any.
func (s schema) find(written string) (string, bool) {
	folded := snakeCase(written)
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

// inner returns the fields of a map, of whichever kind it is, and nil where they are free.
func (s schema) inner(field catalog.Field) map[string]catalog.Field {
	switch {
	case field.Object != "":
		return s.line.Objects[field.Object]
	case field.Store != "":
		text := catalog.Field{Type: catalog.TypeString, Required: true}
		return map[string]catalog.Field{"backend": text, field.Store.Place(): text}
	}
	return nil
}

// dropAliases removes other names of a field that is about to be set: the server would take whichever it looks for
// first.
func (s schema) dropAliases(config *yaml.Node, name string) {
	for alias, field := range s.fields() {
		if field.AliasOf == name {
			document.Drop(config, alias)
		}
	}
}

// dropOtherKinds removes what the base has for a map of another kind than the one that settings make of it.
func (s schema) dropOtherKinds(config *yaml.Node, settings map[string]any) {
	for name, value := range settings {
		written, ok := value.(map[string]any)
		if !ok {
			continue
		}
		n, fields := document.Child(config, name), s.inner(s.fields()[name])
		chosen := catalog.Chosen(fields, func(name string) string { return document.Text(document.Child(n, name)) })
		for key := range fields {
			_, belongs := chosen[key]
			if _, own := written[key]; !belongs && !own {
				document.Drop(n, key)
			}
		}
	}
}

// alternatives are the names of the types of the API that can be used without reservation, as a user writes them.
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
