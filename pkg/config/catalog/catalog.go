// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Line is a release line of the server, such as 0.7, with what it knows.
type Line struct {
	// Name is the release line: "0.7".
	Name string `yaml:"line"`
	// Package is the name of the server's Python package: "llama-stack".
	Package string `yaml:"package"`
	// PortEnv is the environment variable that the server takes its port from; it does not read server.port.
	PortEnv string `yaml:"portEnv"`
	// NeedsInsecure tells whether the server refuses to start without TLS unless server.insecure is true.
	NeedsInsecure bool `yaml:"needsInsecure"`
	// Rows are the provider types of each API, by the server's name of the API, sorted by type.
	Rows map[string][]Provider `yaml:"providers"`
}

// Provider is what a release line knows about one provider type of one API.
type Provider struct {
	// Type is the provider_type: "remote::vllm".
	Type string `yaml:"type"`
	// Source tells where the hand-written part of the row comes from.
	Source string `yaml:"source"`
	// Endpoint tells where the endpoint goes; nil where the type has none.
	Endpoint *Endpoint `yaml:"endpoint"`
	// Key is the config field of the API key; empty where the type has none.
	Key string `yaml:"key"`
	// Region is the config field of the region; empty where the type has none.
	Region string `yaml:"region"`
	// DeploymentName is the config field of the deployment's name; empty where the type has none.
	DeploymentName string `yaml:"deploymentName"`
	// Instead tells, for a field of the custom resource that the type has no use for, what to do instead.
	Instead map[string]string `yaml:"instead"`
	// Fields are the fields of the provider's config, by name.
	Fields map[string]Field `yaml:"fields"`
}

// EndpointKind is how an endpoint is written into the config.
type EndpointKind string

// EndpointURL means that the endpoint is an http or https URL in one field.
const EndpointURL EndpointKind = "url"

// Endpoint tells where the endpoint of a provider goes.
type Endpoint struct {
	// Field is the config field.
	Field string `yaml:"field"`
	// Kind is how the endpoint is written.
	Kind EndpointKind `yaml:"kind"`
	// DefaultPath is the path of the URL where the user wrote none; empty for none.
	DefaultPath string `yaml:"defaultPath"`
	// Required tells that the server cannot do without: it has no default address.
	Required bool `yaml:"required"`
}

// FieldType is the type of a config field.
type FieldType string

// The types of config fields. TypeAny stands for a field that takes more than one type.
const (
	TypeString FieldType = "string"
	TypeInt    FieldType = "int"
	TypeBool   FieldType = "bool"
	TypeFloat  FieldType = "float"
	TypeURL    FieldType = "url"
	TypeList   FieldType = "list"
	TypeMap    FieldType = "map"
	TypeAny    FieldType = "any"
)

var fieldTypes = []FieldType{TypeString, TypeInt, TypeBool, TypeFloat, TypeURL, TypeList, TypeMap, TypeAny}

// Field is one field of a provider's config.
type Field struct {
	// Type is the type that the server demands.
	Type FieldType `yaml:"type"`
	// Secret tells that the server treats the value as a secret.
	Secret bool `yaml:"secret"`
	// Required tells that the server refuses a config without the field.
	Required bool `yaml:"required"`
}

//go:embed *.yaml
var files embed.FS

// all reads the embedded files once. They are part of the program and covered by its tests: a fault in them is a bug.
var all = sync.OnceValue(func() map[string]*Line {
	names, err := files.ReadDir(".")
	if err != nil {
		panic(fmt.Sprintf("catalog: %v", err))
	}
	lines := make(map[string]*Line, len(names))
	for _, entry := range names {
		data, err := files.ReadFile(entry.Name())
		if err != nil {
			panic(fmt.Sprintf("catalog: %v", err))
		}
		line, err := parse(data)
		if err != nil {
			panic(fmt.Sprintf("catalog: %s: %v", entry.Name(), err))
		}
		lines[line.Name] = line
	}
	return lines
})

// Get returns the release line of that name, such as "0.7".
func Get(name string) (*Line, bool) {
	line, ok := all()[name]
	return line, ok
}

// Lines returns the names of all release lines, oldest first.
func Lines() []string { return slices.SortedFunc(maps.Keys(all()), compareNames) }

// ForVersion returns the release line of a server version such as "0.7.1", "v0.7.1" or "0.7.1-rc2".
func ForVersion(version string) (*Line, bool) {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor := rest
	if end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		minor = rest[:end]
	}
	return Get(major + "." + minor)
}

// Provider returns the row of a provider type, such as "remote::vllm", of an API, such as "inference".
func (l *Line) Provider(api, providerType string) (*Provider, bool) {
	rows := l.Rows[api]
	at, ok := slices.BinarySearchFunc(rows, providerType, func(p Provider, t string) int { return strings.Compare(p.Type, t) })
	if !ok {
		return nil, false
	}
	return &rows[at], true
}

// ProviderTypes returns the provider types of an API, sorted.
func (l *Line) ProviderTypes(api string) []string {
	types := make([]string, 0, len(l.Rows[api]))
	for i := range l.Rows[api] {
		types = append(types, l.Rows[api][i].Type)
	}
	return types
}

// FieldNames returns the names of the provider's config fields, sorted.
func (p *Provider) FieldNames() []string { return slices.Sorted(maps.Keys(p.Fields)) }

func parse(data []byte) (*Line, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	line := &Line{}
	if err := decoder.Decode(line); err != nil {
		return nil, err
	}
	if line.Name == "" || line.Package == "" || line.PortEnv == "" {
		return nil, errors.New("line, package and portEnv are required")
	}
	for api, rows := range line.Rows {
		for i := range rows {
			if err := rows[i].check(); err != nil {
				return nil, fmt.Errorf("%s %s: %w", api, rows[i].Type, err)
			}
			if i > 0 && rows[i-1].Type >= rows[i].Type {
				return nil, fmt.Errorf("%s: %s stands after %s: rows are sorted by type and stand once", api, rows[i].Type, rows[i-1].Type)
			}
		}
	}
	return line, nil
}

// check finds rows that contradict themselves.
func (p *Provider) check() error {
	targets := []string{p.Key, p.Region, p.DeploymentName}
	if p.Endpoint != nil {
		targets = append(targets, p.Endpoint.Field)
		if p.Endpoint.Kind != EndpointURL {
			return fmt.Errorf("unknown endpoint kind %q", p.Endpoint.Kind)
		}
	}
	for _, field := range targets {
		if _, ok := p.Fields[field]; field != "" && !ok {
			return fmt.Errorf("no such field: %s", field)
		}
	}
	for name, field := range p.Fields {
		if !slices.Contains(fieldTypes, field.Type) {
			return fmt.Errorf("field %s has the unknown type %q", name, field.Type)
		}
	}
	return nil
}

// compareNames orders release lines as numbers: 0.7 before 0.10.
func compareNames(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(x, y string) int {
		return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
	})
}
