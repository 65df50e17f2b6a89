// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/config/crd"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// Field describes a field of the CRD.
type Field struct {
	Path        string `json:"path"`
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

// Schema is the schema of the storage version.
type Schema struct{ root *props }

var errNoVersion = errors.New("the CustomResourceDefinition does not have version " + v1alpha2.GroupVersion.Version)

// Read returns the schema, completed with the open fields.
func Read() (*Schema, error) {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(crd.LlamaStackDistributions(), &definition); err != nil {
		return nil, err
	}
	for i := range definition.Spec.Versions {
		if v := &definition.Spec.Versions[i]; v.Name == v1alpha2.GroupVersion.Version && v.Schema != nil {
			root := v.Schema.OpenAPIV3Schema
			fillOpenFields(root)
			return &Schema{root}, nil
		}
	}
	return nil, errNoVersion
}

var index = regexp.MustCompile(`\[\w*\]`)

// Find returns the field at a path. It returns nil if the first part is not a root field, and an error if another part
// does not exist.
func (s *Schema) Find(path string) (*Field, error) {
	parts := strings.Split(index.ReplaceAllString(path, ""), ".")
	if _, known := s.root.Properties[parts[0]]; !known {
		return nil, nil
	}
	at, required := s.root, false
	for i, part := range parts {
		at = contents(at)
		next, known := at.Properties[part]
		if !known {
			parent := strings.Join(parts[:i], ".")
			return nil, fmt.Errorf("%s has no field %q: %sits fields are: %s", parent, part,
				problem.DidYouMean(part, slices.Collect(maps.Keys(at.Properties))), orNone(slices.Sorted(maps.Keys(at.Properties))))
		}
		required = slices.Contains(at.Required, part)
		at = &next
	}
	f := describeField(strings.Join(parts, "."), at, required)
	inner := contents(at)
	for _, name := range slices.Sorted(maps.Keys(inner.Properties)) {
		child := inner.Properties[name]
		f.Fields = append(f.Fields, describeField(f.Path+"."+name, &child, slices.Contains(inner.Required, name)))
	}
	return &f, nil
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
		switch {
		case at.Items != nil && at.Items.Schema != nil:
			at = at.Items.Schema
		case len(at.Properties) == 0 && at.AdditionalProperties != nil && at.AdditionalProperties.Schema != nil:
			at = at.AdditionalProperties.Schema
		default:
			return at
		}
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
