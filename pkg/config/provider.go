// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/parse"
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
	*parse.Provider
	api  parse.ProviderAPI
	line *catalog.Line
	// providerType is the full type: "remote::vllm".
	providerType string
	// row is what the release line knows about the type; nil for an unknown one.
	row *catalog.Provider
	// fields are the config fields that the resource sets by name, in the order of the resource, and assigned their paths by field.
	fields   []assignment
	assigned map[string]string
	env      []EnvVar
}

// assignment is one config field that the resource sets outside of settings.
type assignment struct {
	field string
	value *yaml.Node
	path  string
}

// resolveProvider reads one provider of the resource against the release line.
func resolveProvider(api parse.ProviderAPI, p *parse.Provider, line *catalog.Line, findings *report) *provider {
	r := &provider{Provider: p, api: api, line: line, providerType: line.FullType(api.Name, p.Type), assigned: map[string]string{}}
	row, known := line.Provider(api.Name, r.providerType)
	if known {
		r.row = row
		r.checkRow(findings)
	} else {
		r.reportUnknownType(findings)
	}
	r.assignEndpoint(findings)
	r.assignKey(findings)
	r.assignNamed("region", p.Region, func(row *catalog.Provider) string { return row.Region }, findings)
	r.assignNamed("deploymentName", p.DeploymentName, func(row *catalog.Provider) string { return row.DeploymentName }, findings)
	r.assignSecretRefs(findings)
	r.checkSettings(findings)
	r.checkCredentials(findings)
	return r
}

func (p *provider) assign(field string, value *yaml.Node, path string, findings *report) {
	if other, twice := p.assigned[field]; twice {
		p.conflict(field, other, path, findings)
		return
	}
	p.assigned[field] = path
	p.fields = append(p.fields, assignment{field: field, value: value, path: path})
}

func (p *provider) conflict(field, a, b string, findings *report) {
	if findings.skip(Error) {
		return
	}
	findings.fail(Conflict, b, fmt.Sprintf("sets %s of %s, and so does %s", field, p.providerType, a), "keep one of them")
}

func (p *provider) assignSecret(field string, use SecretUse, findings *report) {
	env := EnvVar{Name: use.EnvName, Ref: use.Ref, Path: use.Path}
	if p.row != nil {
		env.Type = p.row.Fields[field].Type
	}
	p.env = append(p.env, env)
	p.assign(field, document.String(document.ReferenceTo(use.EnvName)), use.Path, findings)
}

func (p *provider) assignEndpoint(findings *report) {
	if p.Endpoint == "" {
		return
	}
	path := p.Path + ".endpoint"
	var row *catalog.Endpoint
	if p.row != nil {
		if row = p.row.Endpoint; row == nil {
			// The endpoint of an MCP server is not the provider's: it goes to the tools mcp::<id>.
			if p.row.ToolGroup != catalog.MCPToolGroups {
				p.refuse("endpoint", findings)
			}
			return
		}
	}
	for _, v := range resolveEndpoint(p.Endpoint, path, row, findings) {
		p.assign(v.field, v.value, path, findings)
	}
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
	p.assignSecret(field, apiKeyUse(p.Provider), findings)
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
	p.assign(field, document.String(value), p.Path+"."+name, findings)
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
			p.unknownField(s.Path, snakeCase(s.Field), p.row.FieldNames(), Error, findings)
			continue
		}
		p.assignSecret(field, secretFieldUse(p.Provider, s), findings)
	}
}

// fieldName finds the config field that the user means, by its own name; an unknown provider type takes any.
func (p *provider) fieldName(written string) (string, bool) {
	folded := snakeCase(written)
	if p.row == nil {
		return folded, true
	}
	for _, name := range []string{written, folded} {
		if _, ok := p.row.Fields[name]; ok {
			return p.canonical(name), true
		}
	}
	return "", false
}

// template is the entry of the base that a provider's entry begins with.
type template struct {
	// entry is nil where the base has none that will do.
	entry *yaml.Node
	// own reports that the entry has the provider's id, and so its data.
	own bool
}

// entry makes the provider's entry in the configuration. Stores that it lacks go to a backend of root, files beside those of base.
func (p *provider) entry(from template, base, root *yaml.Node) *yaml.Node {
	entry := &yaml.Node{Kind: yaml.MappingNode}
	if from.entry != nil {
		entry = document.Clone(from.entry)
	}
	document.Set(entry, "provider_id", document.String(p.EffectiveID()))
	document.Set(entry, "provider_type", document.String(p.providerType))
	config := document.Child(entry, "config")
	if config == nil {
		config = &yaml.Node{Kind: yaml.MappingNode}
	}
	if !from.own {
		p.separatePlaces(config)
	}
	for _, a := range p.fields {
		p.dropAliases(config, a.field)
	}
	into := document.NewMapIndex(config)
	for _, a := range p.fields {
		into.Set(a.field, a.value)
	}
	settings := make(map[string]any, len(p.Settings))
	for key, value := range p.Settings {
		name := p.canonical(key)
		p.dropAliases(config, name)
		settings[name] = value
	}
	document.Merge(config, settings)
	p.dropOtherKinds(config, settings)
	p.fillRequired(config, base, root)
	if len(config.Content) > 0 || document.Child(entry, "config") != nil {
		document.Set(entry, "config", config)
	}
	return entry
}

// dropAliases removes other names of a field that is about to be set: the server would take whichever it looks for first.
func (p *provider) dropAliases(config *yaml.Node, name string) {
	if p.row == nil {
		return
	}
	for alias, field := range p.row.Fields {
		if field.AliasOf == name {
			document.Drop(config, alias)
		}
	}
}

// dropOtherKinds removes what the base has for a map of another kind than the one that settings make of it.
func (p *provider) dropOtherKinds(config *yaml.Node, settings map[string]any) {
	if p.row == nil {
		return
	}
	for name, value := range settings {
		written, ok := value.(map[string]any)
		if !ok {
			continue
		}
		n, fields := document.Child(config, name), p.innerFields(p.row.Fields[name])
		chosen := catalog.Chosen(fields, func(name string) string { return document.Text(document.Child(n, name)) })
		for key := range fields {
			_, belongs := chosen[key]
			if _, own := written[key]; !belongs && !own {
				document.Drop(n, key)
			}
		}
	}
}

// checkRequired reports what the server cannot do without and would crash over. given are the environment variables
// that are known to be set.
func (p *provider) checkRequired(entry *yaml.Node, given document.Variables, findings *report) {
	if p.row == nil {
		return
	}
	config := document.Child(entry, "config")
	endpointField := ""
	if e := p.row.Endpoint; e != nil && e.Required {
		endpointField = e.Field
		// A wrong one has been reported.
		if p.Endpoint == "" && given.IsEmpty(document.Child(config, e.Field)) {
			findings.fail(InvalidSpec, p.Path+".endpoint", "Required value", p.providerType+" has no default address, "+exampleEndpoint(e))
		}
	}
	for _, name := range p.row.FieldNames() {
		if name != endpointField {
			p.checkField(name, config, given, findings)
		}
	}
}

func (p *provider) checkField(name string, config *yaml.Node, given document.Variables, findings *report) {
	field, value := p.row.Fields[name], document.Child(config, name)
	switch {
	case field.Required && !field.Nullable && given.IsEmpty(value):
		p.requireField(name, field, findings)
	case value != nil && value.Kind == yaml.MappingNode:
		p.checkInner(field, value, p.Path+"."+p.SettingsField+"."+name, given, findings)
	case p.row.Example[name] != nil && given.IsEmpty(value) && (value != nil || field.Default == nil):
		findings.warn(InvalidSpec, p.Path+".settings."+name, "is empty, and "+p.providerType+" is of little use without it",
			"write it under settings, or give it by secretRefs")
	}
}

func (p *provider) requireField(name string, field catalog.Field, findings *report) {
	path, mending := p.Path+".settings."+name, "write it under settings, or give it by secretRefs"
	switch {
	case name == p.row.Key:
		path, mending = p.Path+".apiKey", "for example apiKey: {name: <Secret>, key: <key within it>}"
	case field.Secret:
		path, mending = p.Path+".secretRefs["+name+"]", "for example secretRefs: {"+name+": {name: <Secret>, key: <key within it>}}"
	}
	findings.fail(InvalidSpec, path, "Required value", p.providerType+" does not start without it: "+mending)
}

// checkInner looks for what is required within a map of the config.
func (p *provider) checkInner(field catalog.Field, config *yaml.Node, path string, given document.Variables, findings *report) {
	fields := catalog.Chosen(p.innerFields(field), func(name string) string { return document.Text(document.Child(config, name)) })
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		inner, value := fields[name], document.Child(config, name)
		switch {
		case inner.Required && !inner.Nullable && given.IsEmpty(value):
			findings.fail(InvalidSpec, path+"."+name, "Required value", p.providerType+" does not start without it: write it")
		case value != nil && value.Kind == yaml.MappingNode:
			p.checkInner(inner, value, path+"."+name, given, findings)
		}
	}
}

// isReference reports whether a value holds nothing but what the environment gives.
func isReference(v any) bool {
	s, ok := v.(string)
	return ok && document.IsReference(s)
}

// redact replaces secrets that stand in the config as they are: a status has more readers than a ConfigMap. Where the catalog knows no
// fields, names decide.
func (p *provider) redact(config *yaml.Node, fields map[string]catalog.Field) {
	for key, value := range document.Members(config) {
		field, known := fields[key]
		byName := !known && value.Kind == yaml.ScalarNode && secretName.MatchString(key)
		if (field.Secret || byName) && !document.IsNull(value) && !isReference(value.Value) {
			*value = *document.String(redacted)
		} else {
			p.redact(value, p.innerFields(field))
		}
	}
	for _, item := range document.Items(config) {
		p.redact(item, fields)
	}
	if address := document.Text(config); beginsWithScheme.MatchString(address) && (hasCredential(address) || hasUserInfo(document.MaskReferences(address))) {
		*config = *document.String(redacted)
	}
}

// status is what the status of the resource shows of the provider.
func (p *provider) status(entry *yaml.Node) ProviderEntry {
	config := json.RawMessage("{}")
	if c := document.Child(entry, "config"); c != nil {
		c = document.Clone(c)
		var fields map[string]catalog.Field
		if p.row != nil {
			fields = p.row.Fields
		}
		p.redact(c, fields)
		if encoded, err := json.Marshal(document.Plain(c)); err == nil {
			config = encoded
		}
	}
	return ProviderEntry{API: p.api.Name, ID: p.EffectiveID(), Type: p.providerType, Config: config}
}
