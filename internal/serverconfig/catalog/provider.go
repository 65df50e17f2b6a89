// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"maps"
	"slices"
)

// Provider is what a release line knows about one provider type of one API.
type Provider struct {
	// Type is the provider_type: "remote::vllm".
	Type string `yaml:"type"`
	// Source reports where the hand-written part of the row comes from.
	Source string `yaml:"source,omitempty"`
	// Endpoint reports where the endpoint goes; nil where the type has none.
	Endpoint *Endpoint `yaml:"endpoint,omitempty"`
	// Key is the config field of the API key; empty where the type has none.
	Key string `yaml:"key,omitempty"`
	// Region is the config field of the region; empty where the type has none.
	Region string `yaml:"region,omitempty"`
	// DeploymentName is the config field of the deployment's name; empty where the type has none.
	DeploymentName string `yaml:"deploymentName,omitempty"`
	// ToolGroup is the tool group that the type serves: "builtin::websearch".
	ToolGroup string `yaml:"toolGroup,omitempty"`
	// Needs are the APIs that must be served for the type to work, sorted.
	Needs []string `yaml:"needs,omitempty"`
	// Uses are the APIs that the type uses where they are served, sorted.
	Uses []string `yaml:"uses,omitempty"`
	// Deprecated reports that the server warns of the type; Refused that it does not start with it.
	Deprecated bool `yaml:"deprecated,omitempty"`
	Refused    bool `yaml:"refused,omitempty"`
	// DataPath is the config field of the file or directory in which the type keeps its data; empty where it has none.
	DataPath string `yaml:"dataPath,omitempty"`
	// Instead says, for a field of the custom resource that the type has no use for, what to do instead.
	Instead map[string]string `yaml:"instead,omitempty"`
	// Example are settings that a working example needs beside endpoint and key.
	Example map[string]any `yaml:"example,omitempty"`
	// Environment are the variables that its client reads where its own config field is not set, and that field; empty
	// where it has no such field.
	Environment map[string]string `yaml:"environment,omitempty"`
	// Fields are the fields of the provider's config, by name.
	Fields map[string]Field `yaml:"fields,omitempty"`
}

// EndpointKind is how an endpoint is written into the config.
type EndpointKind string

const (
	// EndpointURL means that the endpoint is a URL in one field.
	EndpointURL EndpointKind = "url"
	// EndpointAddress means that the endpoint is host:port without a scheme in one field.
	EndpointAddress EndpointKind = "address"
	// EndpointHostPort means that host and port are two fields.
	EndpointHostPort EndpointKind = "hostPort"
)

var endpointKinds = []EndpointKind{EndpointURL, EndpointAddress, EndpointHostPort}

// Endpoint reports where the endpoint of a provider goes.
type Endpoint struct {
	// Field is the config field; of EndpointHostPort that of the host.
	Field string `yaml:"field"`
	// Kind is how the endpoint is written.
	Kind EndpointKind `yaml:"kind"`
	// PortField is the config field of the port, for EndpointHostPort.
	PortField string `yaml:"portField,omitempty"`
	// Schemes are the schemes of the URL, or of EndpointAddress those that may stand before the address; empty for http
	// and https.
	Schemes []string `yaml:"schemes,omitempty"`
	// DefaultPath is the path of the URL where the user wrote none; empty for none.
	DefaultPath string `yaml:"defaultPath,omitempty"`
	// Required reports that the server cannot do without: it has no default address.
	Required bool `yaml:"required,omitempty"`
	// Example is an address for messages; empty for one that suits the kind.
	Example string `yaml:"-"`
}

// FieldNames returns the names of the provider's config fields, sorted, without those that are other names of a field.
func (p *Provider) FieldNames() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(p.Fields)) {
		if p.Fields[name].AliasOf == "" {
			names = append(names, name)
		}
	}
	return names
}

// StoreFields returns the fields that refer to a storage backend of this kind and that the type cannot do without,
// sorted.
func (p *Provider) StoreFields(kind StoreKind) []string {
	var names []string
	for _, name := range p.FieldNames() {
		if field := p.Fields[name]; field.Required && field.Store == kind {
			names = append(names, name)
		}
	}
	return names
}
