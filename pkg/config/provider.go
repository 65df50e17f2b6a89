// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/suggest"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
)

// The config fields of a provider type that the release line does not know.
const (
	fallbackEndpointField = "url"
	fallbackKeyField      = "api_key"
	// redacted stands for a secret, as in the server's own answers.
	redacted = "********"
)

// provider is one provider of the resource on its way into the configuration.
type provider struct {
	*v1alpha2.ProviderConfig
	api  v1alpha2.ProviderAPI
	line *catalog.Line
	// providerType is the full type: "remote::vllm".
	providerType string
	// row is what the release line knows about the type; nil for an unknown one.
	row *catalog.Provider
	// fields are the config fields that the resource sets by name, in the order of the resource.
	fields []assignment
	env    []EnvVar
}

// assignment is one config field that the resource sets outside of settings.
type assignment struct {
	field string
	value *yaml.Node
	path  string
}

// resolveProvider reads one provider of the resource against the release line.
func resolveProvider(api v1alpha2.ProviderAPI, p *v1alpha2.ProviderConfig, line *catalog.Line, findings *report) *provider {
	r := &provider{ProviderConfig: p, api: api, line: line, providerType: providerType(line, api.Name, p.Provider)}
	row, known := line.Provider(api.Name, r.providerType)
	if known {
		r.row = row
	} else {
		r.warnUnknownType(findings)
	}
	r.assignEndpoint(findings)
	r.assignKey(findings)
	r.assignNamed("region", p.Region, func(row *catalog.Provider) string { return row.Region }, findings)
	r.assignNamed("deploymentName", p.DeploymentName, func(row *catalog.Provider) string { return row.DeploymentName }, findings)
	r.assignSecretRefs(findings)
	r.checkSettings(findings)
	return r
}

// providerType gives a provider type its prefix: remote, unless the release line knows the name only as inline.
func providerType(line *catalog.Line, api, name string) string {
	if strings.Contains(name, "::") {
		return name
	}
	remote, inline := "remote::"+name, "inline::"+name
	_, knownRemote := line.Provider(api, remote)
	if _, knownInline := line.Provider(api, inline); knownInline && !knownRemote {
		return inline
	}
	return remote
}

func (p *provider) warnUnknownType(findings *report) {
	var names []string
	for _, t := range p.line.ProviderTypes(p.api.Name) {
		names = append(names, t[strings.Index(t, "::")+2:])
	}
	short := p.Provider[strings.LastIndex(p.Provider, ":")+1:]
	hint := suggest.Sentence(short, names)
	if hint != "" && !strings.Contains(p.Provider, "::") {
		findings.fail(UnknownProviderType, p.Path+".provider",
			fmt.Sprintf("%s is not a provider type that release line %s knows for %s", p.providerType, p.line.Name, p.api.Name),
			hint+"If the image brings this type itself, write it in full: "+p.providerType)
		return
	}
	if hint == "" {
		hint = "known are " + strings.Join(names, ", ") + "; "
	}
	findings.warn(UnknownProviderType, p.Path+".provider",
		fmt.Sprintf("%s is not a provider type that release line %s knows for %s", p.providerType, p.line.Name, p.api.Name),
		fmt.Sprintf("%sthe server starts only if the image brings this type itself; its endpoint is written as %s and its key as %s",
			hint, fallbackEndpointField, fallbackKeyField))
}

func (p *provider) assign(field string, value *yaml.Node, path string, findings *report) {
	for _, other := range p.fields {
		if other.field == field {
			p.conflict(field, other.path, path, findings)
			return
		}
	}
	p.fields = append(p.fields, assignment{field: field, value: value, path: path})
}

func (p *provider) conflict(field, a, b string, findings *report) {
	findings.fail(Conflict, b, fmt.Sprintf("sets %s of %s, and so does %s", field, p.providerType, a), "keep one of them")
}

func (p *provider) assignSecret(field string, use SecretUse, findings *report) {
	env := EnvVar{Name: use.EnvName, Ref: use.Ref, Path: use.Path}
	if p.row != nil {
		env.Type = p.row.Fields[field].Type
	}
	p.env = append(p.env, env)
	p.assign(field, stringNode(envReference(use.EnvName)), use.Path, findings)
}

func (p *provider) assignEndpoint(findings *report) {
	if p.Endpoint == "" {
		return
	}
	path, field := p.Path+".endpoint", fallbackEndpointField
	var row *catalog.Endpoint
	if p.row != nil {
		if row = p.row.Endpoint; row == nil {
			// The endpoint of an MCP server is not the provider's: it goes to the tools mcp::<id>.
			if p.row.ToolGroup != catalog.MCPToolGroups {
				p.refuse("endpoint", findings)
			}
			return
		}
		field = row.Field
	}
	p.assign(field, stringNode(resolveEndpoint(p.Endpoint, path, row, findings)), path, findings)
}

func (p *provider) assignKey(findings *report) {
	if p.APIKey == nil {
		return
	}
	field := fallbackKeyField
	if p.row != nil {
		if field = p.row.Key; field == "" {
			p.refuse("apiKey", findings)
			return
		}
	}
	p.assignSecret(field, apiKeyUse(p.ProviderConfig), findings)
}

// assignNamed writes a field whose meaning only the catalog knows.
func (p *provider) assignNamed(name, value string, target func(*catalog.Provider) string, findings *report) {
	if value == "" {
		return
	}
	if p.row == nil {
		findings.fail(UnknownField, p.Path+"."+name,
			fmt.Sprintf("what %s means to the unknown provider type %s is not known", name, p.providerType),
			"write the provider's own field under settings")
		return
	}
	field := target(p.row)
	if field == "" {
		p.refuse(name, findings)
		return
	}
	p.assign(field, stringNode(value), p.Path+"."+name, findings)
}

// refuse reports a field of the resource that the provider type has no use for.
func (p *provider) refuse(name string, findings *report) {
	mending := "remove it; options of the provider itself go under settings"
	if instead, ok := p.row.Instead[name]; ok {
		mending = "remove it: " + instead
	}
	findings.fail(UnknownField, p.Path+"."+name,
		fmt.Sprintf("%s has no %s on release line %s", p.providerType, name, p.line.Name), mending)
}

func (p *provider) assignSecretRefs(findings *report) {
	for _, s := range p.SecretRefs {
		field, ok := p.fieldName(s.Field)
		if !ok {
			p.unknownField(s.Path, snakeCase(s.Field), findings.fail)
			continue
		}
		p.assignSecret(field, secretFieldUse(p.ProviderConfig, s), findings)
	}
}

// fieldName finds the config field that the user means; an unknown provider type takes any.
func (p *provider) fieldName(written string) (string, bool) {
	folded := snakeCase(written)
	if p.row == nil {
		return folded, true
	}
	for _, name := range []string{written, folded} {
		if _, ok := p.row.Fields[name]; ok {
			return name, true
		}
	}
	return "", false
}

func (p *provider) unknownField(path, field string, report func(code Code, path, message, mending string)) {
	known := p.row.FieldNames()
	fields := "it has no fields"
	if len(known) > 0 {
		fields = "its fields are " + strings.Join(known, ", ")
	}
	report(UnknownField, path, fmt.Sprintf("%s has no field of this name on release line %s, and the server ignores it",
		p.providerType, p.line.Name), suggest.Sentence(field, known)+fields)
}

// checkSettings finds what settings sets a second time, and fields that the server would ignore silently.
func (p *provider) checkSettings(findings *report) {
	for _, key := range slices.Sorted(maps.Keys(p.Settings)) {
		path := p.Path + "." + p.SettingsField + "." + key
		for _, a := range p.fields {
			if a.field == key {
				p.conflict(key, a.path, path, findings)
			}
		}
		if p.row == nil {
			continue
		}
		field, ok := p.row.Fields[key]
		if !ok {
			p.unknownField(path, key, findings.warn)
		}
		if field.Secret && !isReference(p.Settings[key]) {
			findings.warn(LiteralSecret, path, "is a secret, and everybody who may read the resource or its ConfigMap can read it here",
				"put it into a Secret, and refer to it by apiKey or secretRefs")
		}
	}
}

// entry makes the provider's entry in the configuration: start is the entry that it begins with, or nil.
func (p *provider) entry(start *yaml.Node) *yaml.Node {
	entry := &yaml.Node{Kind: yaml.MappingNode}
	if start != nil {
		entry = clone(start)
	}
	set(entry, "provider_id", stringNode(p.EffectiveID()))
	set(entry, "provider_type", stringNode(p.providerType))
	if len(p.fields) == 0 && len(p.Settings) == 0 {
		return entry
	}
	config := ensure(entry, "config", yaml.MappingNode)
	for _, a := range p.fields {
		set(config, a.field, a.value)
	}
	merge(config, p.Settings)
	return entry
}

// checkRequired reports what the server cannot do without and would crash over. given are the environment variables
// that are known to be set.
func (p *provider) checkRequired(entry *yaml.Node, given []string, findings *report) {
	if p.row == nil {
		return
	}
	config := child(entry, "config")
	endpointField := ""
	if e := p.row.Endpoint; e != nil && e.Required {
		endpointField = e.Field
		if unset(child(config, e.Field), given) {
			findings.fail(InvalidSpec, p.Path+".endpoint", "Required value", p.providerType+" has no default address, "+endpointExample)
		}
	}
	for _, name := range p.row.FieldNames() {
		if p.row.Fields[name].Required && name != endpointField && unset(child(config, name), given) {
			findings.fail(InvalidSpec, p.Path+".settings."+name, "Required value",
				p.providerType+" does not start without it: write it under settings, or give it by secretRefs")
		}
	}
}

// unset tells whether a value will be empty when the server has put the environment in.
func unset(n *yaml.Node, given []string) bool {
	if n == nil {
		return true
	}
	if n.Kind != yaml.ScalarNode {
		return false
	}
	m := wholeEnvPattern.FindStringSubmatch(n.Value)
	if m == nil {
		return n.Value == ""
	}
	hasDefault := m[2] == "=" && m[3] != ""
	return !hasDefault && !slices.Contains(given, m[1])
}

// isReference tells whether a value holds nothing but what the environment gives.
func isReference(v any) bool {
	s, ok := v.(string)
	return ok && wholeEnvPattern.MatchString(s)
}

// redact replaces secrets that stand in the config as they are: a status has more readers than a ConfigMap.
func (p *provider) redact(config *yaml.Node) {
	if p.row == nil {
		return
	}
	for name, field := range p.row.Fields {
		if n := child(config, name); field.Secret && n != nil && !isReference(n.Value) {
			set(config, name, stringNode(redacted))
		}
	}
}

// status is what the status of the resource shows of the provider.
func (p *provider) status(entry *yaml.Node) ProviderEntry {
	config := json.RawMessage("{}")
	if c := child(entry, "config"); c != nil {
		c = clone(c)
		p.redact(c)
		if encoded, err := json.Marshal(plain(c)); err == nil {
			config = encoded
		}
	}
	return ProviderEntry{API: p.api.Name, ID: p.EffectiveID(), Type: p.providerType, Config: config}
}
