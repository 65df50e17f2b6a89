// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// The config fields of an unknown provider type.
const (
	fallbackEndpointField = "url"
	fallbackKeyField      = "api_key"
)

// Provider is an entry of spec.providers, resolved against a release line.
type Provider struct {
	schema
	spec *parse.Provider
	// assignments are the config fields that the entry sets outside of settings, in order; assigned maps each to its path.
	assignments []assignment
	assigned    map[string]string
	variables   []environment.Variable
}

type assignment struct {
	field string
	value *yaml.Node
}

// ID returns the provider_id.
func (p *Provider) ID() string { return p.spec.EffectiveID() }

// Path returns the path of the entry in the custom resource: "spec.providers.inference[1]".
func (p *Provider) Path() string { return p.spec.Path }

// Resolve validates an entry of the spec against the release line.
func Resolve(api parse.ProviderAPI, spec *parse.Provider, line *catalog.Line, problems *problem.Collector) *Provider {
	p := &Provider{schema: schemaOf(line, api.Name, spec.Type), spec: spec, assigned: map[string]string{}}
	checkType(p.schema, spec, problems)
	p.assignEndpoint(problems)
	p.assignKey(problems)
	p.assignNamed("region", spec.Region, func(row *catalog.Provider) string { return row.Region }, problems)
	p.assignNamed("deploymentName", spec.DeploymentName, func(row *catalog.Provider) string { return row.DeploymentName },
		problems)
	p.assignSecretRefs(problems)
	p.mergeTLS(problems)
	p.checkSettings(problems)
	p.warnAddress(problems)
	p.warnUnverified(problems)
	p.warnPlain(problems)
	checkCredentials(p.schema, spec, problems)
	return p
}

func (p *Provider) checkSettings(problems *problem.Collector) {
	(&settingsCheck{schema: p.schema, assigned: p.assigned, problems: problems}).check(p.spec)
}

func (p *Provider) assign(name string, value *yaml.Node, path string, problems *problem.Collector) {
	if other, found := p.assigned[name]; found {
		reportConflict(p.name, name, other, path, problems)
		return
	}
	p.assigned[name] = path
	p.assignments = append(p.assignments, assignment{field: name, value: value})
}

// reportConflict reports a config field that two paths set.
func reportConflict(providerType, name, a, b string, problems *problem.Collector) {
	if problems.Full(problem.Error) {
		return
	}
	problems.Add(problem.Problem{
		Reason: problem.ConflictingFields, Path: b, Type: field.ErrorTypeForbidden,
		Detail: fmt.Sprintf("sets %s of %s, as does %s", name, providerType, a), Fix: "keep one of them",
	})
}

func (p *Provider) assignSecret(name string, use environment.SecretUse, problems *problem.Collector) {
	p.variables = append(p.variables, environment.Variable{Name: use.EnvName, Ref: use.Ref, Path: use.Path,
		Type: p.fields()[name].Type})
	p.assign(name, document.String(document.ReferenceTo(use.EnvName)), use.Path, problems)
}

func (p *Provider) assignEndpoint(problems *problem.Collector) {
	if p.spec.Endpoint == "" {
		return
	}
	path := p.spec.EndpointPath()
	var row *catalog.Endpoint
	if p.row != nil {
		if row = p.row.Endpoint; row == nil {
			// The endpoint of an MCP server belongs to the tools mcp::<id>.
			if p.row.ToolGroup != catalog.MCPToolGroups {
				p.reportUnsupported(strings.TrimPrefix(path, p.Path()+"."), problems)
			}
			return
		}
	}
	endpoint := p.spec.Endpoint
	if p.spec.EndpointFrom != nil {
		endpoint = convertScheme(endpoint, row)
	}
	for _, v := range ResolveEndpoint(endpoint, path, row, problems) {
		p.assign(v.Field, v.Node, path, problems)
	}
}

func (p *Provider) assignKey(problems *problem.Collector) {
	if p.spec.APIKey == nil {
		return
	}
	name := fallbackKeyField
	if p.row != nil {
		if name = p.row.Key; name == "" {
			p.reportUnsupported(apiKey, problems)
			return
		}
	}
	p.assignSecret(name, APIKeyUse(p.spec), problems)
}

// assignNamed assigns a field whose config field depends on the provider type.
func (p *Provider) assignNamed(name, value string, target func(*catalog.Provider) string, problems *problem.Collector) {
	if value == "" {
		return
	}
	path := p.Path() + "." + name
	if p.row == nil {
		problems.Add(problem.Problem{
			Reason: problem.UnknownField, Path: path, Type: field.ErrorTypeForbidden,
			Detail: fmt.Sprintf("has an unknown config field for %s in the unknown provider type %s", name, p.name),
			Fix:    "set the provider's own field under settings",
		})
		return
	}
	if name == "deploymentName" && p.row.DeploymentIsModel {
		return // it is the name of the provider's models on the model server
	}
	if assigned := target(p.row); assigned != "" {
		p.assign(assigned, document.String(value), path, problems)
		return
	}
	p.reportUnsupported(name, problems)
}

// reportUnsupported reports a field of the entry that the provider type does not support.
func (p *Provider) reportUnsupported(name string, problems *problem.Collector) {
	fix := "remove it; options of the provider go under settings"
	if instead, ok := p.row.Instead[name]; ok {
		fix = "remove it: " + instead
	}
	problems.Add(problem.Problem{
		Reason: problem.UnknownField, Path: p.Path() + "." + name, Type: field.ErrorTypeForbidden,
		Detail: fmt.Sprintf("%s has no %s on release line %s", p.name, name, p.line.Name), Fix: fix,
	})
}

// apiKey is the field of an entry with a secret reference.
const apiKey = "apiKey"

// reportMisplacedKey reports the field apiKey under secretRefs.
func (p *Provider) reportMisplacedKey(s parse.SecretField, problems *problem.Collector) {
	problems.Add(problem.Problem{
		Reason: problem.UnknownField, Path: s.Path, Type: field.ErrorTypeInvalid,
		Detail: fmt.Sprintf("%s has no field of this name on release line %s", p.name, p.line.Name),
		Fix:    fmt.Sprintf("did you mean the field %q of the entry, next to secretRefs?", apiKey),
	})
}

func (p *Provider) assignSecretRefs(problems *problem.Collector) {
	for _, s := range p.spec.SecretRefs {
		if name, ok := p.find(s.Field); ok {
			p.assignSecret(name, secretFieldUse(p.spec, s), problems)
			continue
		}
		known := p.row.FieldNames()
		if s.Direct { // possibly meant as a field of the entry
			known = append(parse.ProviderFields(), known...)
		} else if near, ok := problem.Nearest(s.Field, append([]string{apiKey}, known...)); ok && near == apiKey &&
			p.row.Key != "" {
			p.reportMisplacedKey(s, problems)
			continue
		}
		reportUnknownField(p.schema, s.Path, SnakeCase(s.Field), known, problem.Error, problems)
	}
}
