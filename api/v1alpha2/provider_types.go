// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"encoding/json"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// ProvidersSpec configures providers by API. Each field is one provider object, or a list of provider objects with
// explicit ids. A provider has the fields id, provider, endpoint or endpointFrom, apiKey, settings, region,
// deploymentName and secretRefs; see the type Provider of package internal/serverconfig/parse.
// Each other API of any release line is a field, too, by its name in camelCase.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ProvidersSpec struct {
	// Inference configures inference providers (vllm, ollama, openai, ...).
	// +optional
	Inference *apiextensionsv1.JSON `json:"inference,omitempty"`

	// Safety configures safety providers (llama-guard, ...).
	// +optional
	Safety *apiextensionsv1.JSON `json:"safety,omitempty"`

	// VectorIo configures vector I/O providers (pgvector, chromadb, ...).
	// +optional
	VectorIo *apiextensionsv1.JSON `json:"vectorIo,omitempty"`

	// ToolRuntime configures tool runtime providers (tavily-search, model-context-protocol, ...).
	// +optional
	ToolRuntime *apiextensionsv1.JSON `json:"toolRuntime,omitempty"`

	// Telemetry configures the OpenTelemetry exporter of the server.
	// +optional
	Telemetry *apiextensionsv1.JSON `json:"telemetry,omitempty"`

	// Others are the other fields by name. The catalog of release lines says which APIs there are.
	Others map[string]apiextensionsv1.JSON `json:"-"`
}

// fields returns the fields of the schema by name.
func (p *ProvidersSpec) fields() map[string]**apiextensionsv1.JSON {
	return map[string]**apiextensionsv1.JSON{
		"inference": &p.Inference, "safety": &p.Safety, "vectorIo": &p.VectorIo, "toolRuntime": &p.ToolRuntime,
		"telemetry": &p.Telemetry,
	}
}

// Names returns the names of the fields that are set, sorted.
func (p *ProvidersSpec) Names() []string {
	names := slices.Collect(maps.Keys(p.Others))
	for name, value := range p.fields() {
		if *value != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Field returns the value of the field with this name, or nil.
func (p *ProvidersSpec) Field(name string) *apiextensionsv1.JSON {
	if value, known := p.fields()[name]; known {
		return *value
	}
	if value, set := p.Others[name]; set {
		return &value
	}
	return nil
}

// UnmarshalJSON reads all fields. As everywhere in Kubernetes, names are case-sensitive and null means absent.
func (p *ProvidersSpec) UnmarshalJSON(data []byte) error {
	var all map[string]*apiextensionsv1.JSON
	if err := utiljson.Unmarshal(data, &all); err != nil {
		return err
	}
	*p = ProvidersSpec{}
	known := p.fields()
	for name, value := range all {
		switch at, found := known[name]; {
		case found:
			*at = value
		case value != nil:
			if p.Others == nil {
				p.Others = map[string]apiextensionsv1.JSON{}
			}
			p.Others[name] = *value
		}
	}
	return nil
}

// MarshalJSON writes all fields.
func (p *ProvidersSpec) MarshalJSON() ([]byte, error) {
	all := make(map[string]*apiextensionsv1.JSON, len(p.Others))
	for _, name := range p.Names() {
		all[name] = p.Field(name)
	}
	return json.Marshal(all)
}
