// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha1"
	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/config/crd"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// Field describes a field of the CRD.
type Field struct {
	Path string `json:"path"`
	// Version is the version of the field if it is not the storage version, and InV1alpha2 its path there, if any.
	Version     string `json:"version,omitempty"`
	InV1alpha2  string `json:"inV1alpha2,omitempty"`
	Type        string `json:"type"`
	Required    bool   `json:"required,omitempty"`
	Default     any    `json:"default,omitempty"`
	Description string `json:"description,omitempty"`
	// Limits describe the valid values; Rules are the messages of the CEL rules.
	Limits []string `json:"limits,omitempty"`
	Rules  []string `json:"rules,omitempty"`
	// Fields are the fields of an object, or of a list's objects.
	Fields []Field `json:"fields,omitempty"`
	// Values are the values of an enum, also part of Limits.
	Values []string `json:"-"`
}

type props = apiextensionsv1.JSONSchemaProps

// Schema is the schema of a version.
type Schema struct {
	root    *props
	version string
}

// Read returns the schema of the storage version, completed with the open fields.
func Read() (*Schema, error) {
	s, err := read(v1alpha2.GroupVersion.Version)
	if err == nil {
		fillOpenFields(s.root)
	}
	return s, err
}

// ReadOlder returns the schema of v1alpha1.
func ReadOlder() (*Schema, error) { return read(v1alpha1.GroupVersion.Version) }

func read(version string) (*Schema, error) {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(crd.LlamaStackDistributions(), &definition); err != nil {
		return nil, err
	}
	for i := range definition.Spec.Versions {
		if v := &definition.Spec.Versions[i]; v.Name == version && v.Schema != nil {
			return &Schema{v.Schema.OpenAPIV3Schema, version}, nil
		}
	}
	return nil, fmt.Errorf("the CustomResourceDefinition does not have version %s", version)
}

// aliasOfSettings is another name of settings, the field of a provider.
const settings, aliasOfSettings = "settings", "config"

// index matches the index of an item or the key of a map; they do not change the description.
var index = regexp.MustCompile(`\["?[\w./-]*"?\]`)

// Find returns the field at a path, which may have indices of items and keys of maps; below a field with any content,
// that field. It returns nil if the first part is not a root field, and an error if another part does not exist.
func (s *Schema) Find(path string) (*Field, error) {
	parts := strings.Split(index.ReplaceAllString(path, ""), ".")
	if _, known := s.root.Properties[parts[0]]; !known {
		return nil, nil
	}
	at, required := s.root, false
	var found []string
	for i, part := range parts {
		of := itemOf(at)
		at = contents(of)
		next, known := at.Properties[part]
		if !known && part == aliasOfSettings {
			part = settings
			next, known = at.Properties[part]
		}
		switch {
		case known:
			required = slices.Contains(at.Required, part)
			at, found = &next, append(found, part)
			continue
		case valueOf(of) != nil && (i+1 == len(parts) || len(at.Properties) == 0): // a key, possibly with dots
			return s.field(found, of, required), nil
		case valueOf(of) != nil:
			continue
		case isOpen(at):
			return s.field(found, at, required), nil
		}
		parent := strings.Join(parts[:i], ".")
		return nil, fmt.Errorf("%s has no field %q: %sits fields are: %s", parent, part,
			problem.DidYouMean(part, slices.Collect(maps.Keys(at.Properties))), orNone(slices.Sorted(maps.Keys(at.Properties))))
	}
	return s.field(found, at, required), nil
}

// field returns the field at a path with the fields below it.
func (s *Schema) field(path []string, at *props, required bool) *Field {
	f := describeField(strings.Join(path, "."), at, required)
	inner := contents(at)
	for _, name := range slices.Sorted(maps.Keys(inner.Properties)) {
		child := inner.Properties[name]
		f.Fields = append(f.Fields, describeField(f.Path+"."+name, &child, slices.Contains(inner.Required, name)))
	}
	if s.version != v1alpha2.GroupVersion.Version {
		f.Version, f.InV1alpha2 = s.version, v1alpha1.HubPathOf(f.Path)
	}
	return &f
}

// itemOf returns the schema of list items, or at itself.
func itemOf(at *props) *props {
	for at.Items != nil && at.Items.Schema != nil {
		at = at.Items.Schema
	}
	return at
}

// valueOf returns the schema of map values; nil if at is not a map.
func valueOf(at *props) *props {
	if len(at.Properties) > 0 || at.AdditionalProperties == nil {
		return nil
	}
	return at.AdditionalProperties.Schema
}

// isOpen reports whether the field may have any fields.
func isOpen(at *props) bool {
	return len(at.Properties) == 0 && (at.Type == "object" || at.Type == "" && !at.XIntOrString)
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "no known fields"
	}
	return strings.Join(names, ", ")
}

// contents returns the schema of list items or map values, or at itself.
func contents(at *props) *props {
	for {
		at = itemOf(at)
		value := valueOf(at)
		if value == nil {
			return at
		}
		at = value
	}
}

func describeField(path string, at *props, required bool) Field {
	f := Field{Path: path, Type: typeOf(at), Required: required, Description: at.Description, Limits: limitsOf(at),
		Values: valuesOf(at)}
	if at.Default != nil {
		_ = json.Unmarshal(at.Default.Raw, &f.Default) // the API server validates defaults
	}
	for _, rule := range at.XValidations {
		if rule.Message != "" {
			f.Rules = append(f.Rules, rule.Message)
		}
	}
	return f
}

func typeOf(at *props) string {
	switch {
	case at.XIntOrString:
		return "integer or string"
	case at.Items != nil && at.Items.Schema != nil:
		return "list of " + typeOf(at.Items.Schema)
	case at.AdditionalProperties != nil && at.AdditionalProperties.Schema != nil:
		return "map of " + typeOf(at.AdditionalProperties.Schema)
	case at.Type == "":
		return "any"
	}
	return at.Type
}

func limitsOf(at *props) []string {
	var limits []string
	add := func(format string, value any) { limits = append(limits, fmt.Sprintf(format, value)) }
	if at.Minimum != nil {
		add("at least %v", *at.Minimum)
	}
	if at.Maximum != nil {
		add("at most %v", *at.Maximum)
	}
	if at.MinLength != nil {
		add("at least %v characters", *at.MinLength)
	}
	if at.MaxLength != nil {
		add("at most %v characters", *at.MaxLength)
	}
	if at.MaxItems != nil {
		add("at most %v items", *at.MaxItems)
	}
	if at.Pattern != "" {
		add("matches %s", at.Pattern)
	}
	if len(at.Enum) > 0 {
		add("one of %s", strings.Join(valuesOf(at), ", "))
	}
	return limits
}

func valuesOf(at *props) []string {
	var values []string
	for _, value := range at.Enum {
		values = append(values, strings.Trim(string(value.Raw), `"`))
	}
	return values
}

// Paths returns the sorted paths of all described fields; those of Kubernetes types have no description.
func (s *Schema) Paths() []string {
	var list []string
	var walk func(prefix string, at *props)
	walk = func(prefix string, at *props) {
		at = contents(at)
		for name := range at.Properties {
			child := at.Properties[name]
			if child.Description == "" {
				continue
			}
			list = append(list, prefix+name)
			walk(prefix+name+".", &child)
		}
	}
	walk("", s.root)
	slices.Sort(list)
	return list
}

// WithSuffix returns the paths in spec that end with a name or partial path, such as workload.replicas.
func (s *Schema) WithSuffix(name string) []string {
	var list []string
	for _, path := range s.Paths() {
		if strings.HasPrefix(path, "spec.") && strings.HasSuffix(strings.ToLower(path), "."+strings.ToLower(name)) {
			list = append(list, path)
		}
	}
	return list
}
