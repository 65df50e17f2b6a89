// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/provider"
)

// applyMCP registers an MCP server as a tool group or connector.
func (r *toolStep) applyMCP(t *parse.Tool, id string) {
	if !mcpIDPattern.MatchString(id) {
		r.problems.Add(problem.Problem{
			Reason: problem.InvalidField, Path: t.Path, Type: field.ErrorTypeInvalid, Value: displayName(t.Name),
			Detail: "the part after mcp:: is not an id",
			Fix:    "use letters, digits, '.', '_' and '-', for example mcp::github",
		})
		return
	}
	endpoint, path := t.Endpoint, t.EndpointPath()
	configured := r.mcpProvider(id)
	if endpoint == "" && configured != nil {
		endpoint, path = configured.Endpoint, configured.EndpointPath()
	}
	if endpoint == "" {
		r.problems.Add(problem.Problem{
			Reason: problem.MissingField, Path: path, Type: field.ErrorTypeRequired,
			Detail: "the MCP server has no address",
			Fix: "for example endpoint: " + mcpAddress + ", here or at the provider of spec.providers.toolRuntime with the " +
				"id " + id,
		})
		return
	}
	resolved, ok := provider.ResolveURL(endpoint, path, mcpAddress, mcpCredential, r.problems)
	if !ok {
		return
	}
	if !r.line.RegistersToolGroups {
		r.connect(t, id, resolved)
		return
	}
	serving, ok := r.mcpToolProvider(t, configured)
	if !ok {
		return
	}
	entry := r.registerToolGroup(catalog.MCPToolGroups+id, serving)
	document.Set(document.Ensure(entry, "mcp_endpoint", yaml.MappingNode), "uri", document.String(resolved))
	r.uses = append(r.uses, Use{API: parse.APIToolRuntime.Name, ID: serving.ID, Path: t.Path})
}

// connect adds a connector, or updates the base's connector with the same id.
func (r *toolStep) connect(t *parse.Tool, id, url string) {
	if _, ok := r.line.Sections[ListConnectors]; !ok {
		r.unknownTool(t)
		return
	}
	if t.Provider != "" {
		r.problems.Add(problem.Problem{
			Reason: problem.NoEffect, Severity: problem.Warning, Path: t.Path + ".provider",
			Detail: fmt.Sprintf("has no effect: on release line %s the server connects to MCP servers itself", r.line.Name),
			Fix:    "remove it",
		})
	}
	entry := overlayByID(document.Ensure(r.doc.Root(), ListConnectors, yaml.SequenceNode), r.connectors, "connector_id",
		id)
	document.Set(entry, "connector_type", document.String("mcp"))
	document.Set(entry, "url", document.String(url))
	r.register(ListConnectors, id)
}

// mcpProvider returns the provider of the spec with the MCP server's id, if its type supports MCP or is unknown.
func (r *toolStep) mcpProvider(id string) *parse.Provider {
	if p := parse.Find(r.groups, parse.APIToolRuntime.Name, id); p != nil && r.servesMCP(p) {
		return p
	}
	return nil
}

func (r *toolStep) servesMCP(p *parse.Provider) bool {
	row, known := r.line.Provider(parse.APIToolRuntime.Name, r.line.FullType(parse.APIToolRuntime.Name, p.Type))
	return !known || row.ToolGroup == catalog.MCPToolGroups
}

// mcpToolProvider returns the provider of an MCP server's tool group: the provider with its id, or the result of
// toolProvider. It adds a provider if no enabled one has a suitable type.
func (r *toolStep) mcpToolProvider(t *parse.Tool, configured *parse.Provider) (document.Identity, bool) {
	ids := r.doc.Identities(parse.APIToolRuntime.Name)
	types := r.line.ToolGroupProviders(catalog.MCPToolGroups)
	if t.Provider == "" && configured != nil {
		return document.FindIdentity(ids, configured.EffectiveID())
	}
	serving := slices.ContainsFunc(r.env.Given().Enabled(ids), func(id document.Identity) bool {
		return slices.Contains(types, r.doc.TypeOf(parse.APIToolRuntime.Name, id))
	})
	if t.Provider == "" && !serving && len(types) > 0 {
		return r.addToolProvider(t, types[0])
	}
	return r.toolProvider(t, t.Name, types)
}

// addToolProvider adds a provider without configuration, or enables that of the base.
func (r *toolStep) addToolProvider(t *parse.Tool, providerType string) (document.Identity, bool) {
	id := providerType[strings.Index(providerType, "::")+2:]
	entry := &yaml.Node{Kind: yaml.MappingNode}
	list := r.doc.EnsureProviders(parse.APIToolRuntime.Name)
	for _, other := range list.Content {
		switch {
		case document.IdentityOf(document.Child(other, "provider_id")).ID != id:
		case document.Text(document.Child(other, "provider_type")) == providerType:
			entry = other
		default:
			r.problems.Add(problem.Problem{
				Reason: problem.ConflictingFields, Path: t.Path, Type: field.ErrorTypeForbidden,
				Detail: fmt.Sprintf("needs a provider of type %s, and another provider has the id %s", providerType, id),
				Fix:    "configure one with another id under spec.providers.toolRuntime",
			})
			return document.Identity{}, false
		}
	}
	document.Set(entry, "provider_id", document.String(id))
	document.Set(entry, "provider_type", document.String(providerType))
	r.doc.PutProvider(parse.APIToolRuntime.Name, id, entry)
	return document.IdentityOf(document.Child(entry, "provider_id")), true
}

// warnUnusedEndpoints warns about MCP servers whose tools are not in spec.resources.tools.
func (r *toolStep) warnUnusedEndpoints(tools map[string]string) {
	for _, group := range r.groups {
		if group.API != parse.APIToolRuntime {
			continue
		}
		for i := range group.Providers {
			p := &group.Providers[i]
			row, known := r.line.Provider(group.API.Name, r.line.FullType(group.API.Name, p.Type))
			if _, used := tools[catalog.MCPToolGroups+p.EffectiveID()]; used || p.Endpoint == "" || !known ||
				row.ToolGroup != catalog.MCPToolGroups {
				continue
			}
			r.problems.Add(problem.Problem{
				Reason: problem.NoEffect, Severity: problem.Warning, Path: p.EndpointPath(),
				Detail: "has no effect: the address of an MCP server is used only for its tools",
				Fix:    "add them to spec.resources.tools: " + catalog.MCPToolGroups + p.EffectiveID(),
			})
		}
	}
}
