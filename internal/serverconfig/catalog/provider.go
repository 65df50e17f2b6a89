// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"maps"
	"slices"
)

// Provider describes a provider type of an API on a release line.
type Provider struct {
	// Type is the provider_type: "remote::vllm".
	Type string `yaml:"type"`
	// Source names the source of the hand-written part.
	Source string `yaml:"source,omitempty"`
	// Endpoint says where the endpoint goes, or is nil.
	Endpoint *Endpoint `yaml:"endpoint,omitempty"`
	// Key is the config field of the API key, or "".
	Key string `yaml:"key,omitempty"`
	// Region is the config field of the region, or "".
	Region string `yaml:"region,omitempty"`
	// DeploymentName is the config field of the deployment's name, or "".
	DeploymentName string `yaml:"deploymentName,omitempty"`
	// DeploymentIsModel means that the deployment's name is the name of the provider's models on the model server.
	DeploymentIsModel bool `yaml:"deploymentIsModel,omitempty"`
	// ToolGroup is the tool group of the type: "builtin::websearch".
	ToolGroup string `yaml:"toolGroup,omitempty"`
	// Needs are the APIs that the type requires, sorted.
	Needs []string `yaml:"needs,omitempty"`
	// Uses are the APIs that the type uses if they are served, sorted.
	Uses []string `yaml:"uses,omitempty"`
	// Deprecated means that the server warns about the type, Refused that it does not start with it.
	Deprecated bool `yaml:"deprecated,omitempty"`
	Refused    bool `yaml:"refused,omitempty"`
	// DataPath is the config field of the type's data file or directory, or "".
	DataPath string `yaml:"dataPath,omitempty"`
	// Instead says what to use instead of an unsupported field of the custom resource.
	Instead map[string]string `yaml:"instead,omitempty"`
	// Example holds the settings of a working example without endpoint and key.
	Example map[string]any `yaml:"example,omitempty"`
	// Environment maps variables that the client reads to the config field that replaces them, or to "".
	Environment map[string]string `yaml:"environment,omitempty"`
	Fields      map[string]Field  `yaml:"fields,omitempty"`
}

// EndpointKind is the format of an endpoint in the config.
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

// Endpoint says where the endpoint of a provider goes.
type Endpoint struct {
	// Field is the config field of the endpoint, or of the host.
	Field string       `yaml:"field"`
	Kind  EndpointKind `yaml:"kind"`
	// PortField is the config field of the port, for EndpointHostPort.
	PortField string `yaml:"portField,omitempty"`
	// Schemes are the schemes of a URL, or the optional ones of an address; empty for http and https.
	Schemes []string `yaml:"schemes,omitempty"`
	// DefaultPath is the path of a URL without one.
	DefaultPath string `yaml:"defaultPath,omitempty"`
	// Required means that the server has no default address.
	Required bool `yaml:"required,omitempty"`
	// Example is an address for messages; it may be empty.
	Example string `yaml:"-"`
}

// FieldNames returns the names of the config fields without aliases, sorted.
func (p *Provider) FieldNames() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(p.Fields)) {
		if p.Fields[name].AliasOf == "" {
			names = append(names, name)
		}
	}
	return names
}
