// SPDX-License-Identifier: Apache-2.0

package playground

import (
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/fields"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// Position is a position in the text.
type Position struct {
	// Path is the path without indexes, such as spec.workload; empty means the root.
	Path string `json:"path"`
	// Release is a release line; empty means the newest.
	Release string `json:"release"`
}

// Completions are the completions at a Position.
type Completions struct {
	// Fields are the fields of an object.
	Fields []Field `json:"fields"`
	// Values are the values of an enum-like field.
	Values []string `json:"values"`
	// About describes the field itself; nil if unknown.
	About *Field `json:"about,omitempty"`
}

// Field describes a field in the editor.
type Field struct {
	Name        string   `json:"name"`
	Type        string   `json:"type"`
	Required    bool     `json:"required"`
	Description string   `json:"description"`
	Limits      []string `json:"limits,omitempty"`
}

// providerAPI returns the API of the field provider in spec.providers, or "".
func providerAPI(path string) string {
	for _, api := range parse.APIs() {
		if path == "spec.providers."+api.Field+".provider" {
			return api.Name
		}
	}
	return ""
}

// Complete returns the completions at a position; empty for unknown fields.
func (e *Engine) Complete(at Position) *Completions {
	c := &Completions{Fields: []Field{}, Values: []string{}}
	if at.Path == "" {
		for _, name := range []string{"apiVersion", "kind", "metadata", "spec"} {
			if f, _ := e.fields().Find(name); f != nil {
				c.Fields = append(c.Fields, newField(name, f))
			}
		}
		return c
	}
	f, _ := e.fields().Find(at.Path)
	if f == nil {
		return c
	}
	described := newField(last(f.Path), f)
	c.About = &described
	for i := range f.Fields {
		c.Fields = append(c.Fields, newField(last(f.Fields[i].Path), &f.Fields[i]))
	}
	switch api := providerAPI(at.Path); {
	case at.Path == "metadata":
		for _, name := range []string{"name", "namespace", "labels", "annotations"} {
			kind := "string"
			if name == "labels" || name == "annotations" {
				kind = "map of string"
			}
			c.Fields = append(c.Fields, Field{Name: name, Type: kind, Required: name == "name"})
		}
	case at.Path == "apiVersion":
		c.Values = []string{"llamastack.io/v1alpha2"}
	case at.Path == "kind":
		c.Values = []string{"LlamaStackDistribution"}
	case at.Path == "spec.distribution.name":
		c.Values = e.cluster.Settings.Names()
	case f.Type == "boolean":
		c.Values = []string{"true", "false"}
	case api != "":
		c.Values = providerTypes(api, at.Release)
	default:
		c.Values = append(c.Values, f.Values...)
	}
	return c
}

// providerTypes returns the provider types of an API in a release line, by the short name if it is unambiguous.
func providerTypes(api, release string) []string {
	if release == "" {
		release = catalog.Newest()
	}
	line, match := catalog.ForVersion(release)
	if match != catalog.KnownLine && match != catalog.Newer {
		return []string{}
	}
	types := line.ProviderTypes(api)
	names := make([]string, len(types))
	for i, full := range types {
		if names[i] = full; line.FullType(api, last(full)) == full {
			names[i] = last(full)
		}
	}
	slices.Sort(names)
	return names
}

func newField(name string, f *fields.Field) Field {
	return Field{Name: name, Type: f.Type, Required: f.Required, Description: f.Description, Limits: f.Limits}
}

func last(path string) string { return path[strings.LastIndexAny(path, ".:")+1:] }
