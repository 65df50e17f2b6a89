// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/internal/suggest"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// builtinToolGroups is what the names of tool groups begin with that are not those of MCP servers.
const builtinToolGroups = "builtin::"

// mcpAddress is what the address of an MCP server looks like.
const mcpAddress = "http://mcp-github.tools.svc:8000/mcp"

// mcpIDPattern is what may follow mcp:: in the name of a tool: the server takes what follows a slash for the name of a single tool.
var mcpIDPattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// applyTools makes sure that the server has the tools of the resource: as registered tool groups, or, where the release line makes
// these by itself, by a provider that it makes them from. MCP servers become tool groups or connectors, as the line wants.
func (g *generation) applyTools() {
	api := v1alpha2.APIToolRuntime.Name
	if _, ok := g.Line.APIs[api]; !ok && len(g.tools) > 0 {
		g.refuseAbsent(api, "spec.resources.tools")
		return
	}
	g.connectors = indexByID(g.doc.Section("connectors"), "connector_id")
	g.groupEntries = indexByID(g.doc.Registered("tool_groups"), "toolgroup_id")
	paths := make(map[string]string, len(g.tools))
	for i := range g.tools {
		if g.stopped() {
			return
		}
		t := &g.tools[i]
		id := g.toolGroup(t.Name)
		if at, twice := paths[id]; twice {
			g.findings.fail(Conflict, t.Path, "asks for the tools of "+at+" once more", "keep one of them")
			continue
		}
		paths[id] = t.Path
		g.doc.EnableAPI(api)
		if name, isMCP := strings.CutPrefix(id, catalog.MCPToolGroups); isMCP {
			g.applyMCP(t, name)
		} else {
			g.applyBuiltin(t, id)
		}
	}
	g.warnUnusedEndpoints(paths)
}

// toolGroup returns the name that the release line has for a tool group: "websearch" is builtin::websearch, and builtin::rag became
// builtin::file_search.
func (g *generation) toolGroup(name string) string {
	id := name
	if !strings.Contains(name, "::") {
		id = builtinToolGroups + name
	}
	if len(g.Line.ToolGroupProviders(id)) == 0 {
		if other, ok := catalog.OtherToolGroup(id); ok {
			return other
		}
	}
	return id
}

// applyBuiltin makes sure of a tool group that a provider brings.
func (g *generation) applyBuiltin(t *v1alpha2.ToolConfig, id string) {
	if t.Endpoint != "" {
		g.findings.fail(UnknownField, t.Path+".endpoint", "only the tools of an MCP server have an endpoint", "remove it, or name the tools mcp::<id>")
		return
	}
	types := g.Line.ToolGroupProviders(id)
	if len(types) == 0 && (t.Provider == "" || !g.Line.RegistersToolGroups) {
		g.unknownTool(t)
		return
	}
	provider, ok := g.toolProvider(t, id, types)
	if !ok {
		return
	}
	g.uses = append(g.uses, providerUse{api: v1alpha2.APIToolRuntime.Name, id: provider.ID, path: t.Path})
	if !g.hasKey(provider) && !g.refusesToolProvider() {
		g.findings.warn(NoKey, t.Path, "the provider of these tools has no key: they work only for clients that send one with their requests",
			"configure the provider under spec.providers.toolRuntime with apiKey: {name: <Secret>, key: <key within it>}")
	}
	if g.Line.RegistersToolGroups {
		g.registerToolGroup(id, provider)
		return
	}
	g.prefer(provider, types)
}

// refusesToolProvider tells whether a tool provider of the resource is wrong: it may be the one that was meant.
func (g *generation) refusesToolProvider() bool {
	return slices.ContainsFunc(g.findings.List(), func(p problem.Problem) bool {
		return p.Severity == problem.Error && strings.HasPrefix(p.Path, "spec.providers."+v1alpha2.APIToolRuntime.Field)
	})
}

func (g *generation) unknownTool(t *v1alpha2.ToolConfig) {
	if g.findings.skip(Error) {
		return
	}
	var known []string
	for _, id := range g.Line.ToolGroups() {
		if id != catalog.MCPToolGroups {
			known = append(known, strings.TrimPrefix(id, builtinToolGroups))
		}
	}
	short := strings.TrimPrefix(t.Name, builtinToolGroups)
	g.findings.fail(NotAvailable, t.Path, fmt.Sprintf("release line %s has no tools of this name", g.Line.Name),
		suggest.Sentence(short, known)+"there are "+strings.Join(known, ", ")+", and mcp::<id> for those of an MCP server")
}

// toolProvider finds the provider of a tool group: the one that the tool names, else the first of the resource that serves the group,
// else one of the base that is always there: where one has its key, one of those; of these the one that the base registers the group
// with, else the first.
func (g *generation) toolProvider(t *v1alpha2.ToolConfig, id string, types []string) (document.Identity, bool) {
	ids := g.doc.Identities(v1alpha2.APIToolRuntime.Name)
	if t.Provider != "" {
		return g.namedToolProvider(t, ids, types)
	}
	var serving []document.Identity
	for _, candidate := range ids {
		if slices.Contains(types, g.doc.TypeOf(v1alpha2.APIToolRuntime.Name, candidate)) {
			serving = append(serving, candidate)
		}
	}
	for _, group := range g.groups {
		for i := range group.Providers {
			if provider, ok := document.FindIdentity(serving, group.Providers[i].EffectiveID()); ok && group.API == v1alpha2.APIToolRuntime {
				return provider, true
			}
		}
	}
	certain := g.env.Given().Enabled(serving)
	if keyed := slices.DeleteFunc(slices.Clone(certain), func(id document.Identity) bool { return !g.hasKey(id) }); len(keyed) > 0 {
		certain = keyed
	}
	if provider, ok := document.FindIdentity(certain, g.registeredWith(id)); ok {
		return provider, true
	}
	if len(certain) > 0 {
		return certain[0], true
	}
	if g.findings.skip(Error) {
		return document.Identity{}, false
	}
	choices := make([]string, len(types))
	for i, providerType := range types {
		choices[i] = providerType[strings.Index(providerType, "::")+2:]
	}
	mending := "configure one under spec.providers.toolRuntime: provider " + strings.Join(choices, ", ")
	if maybe := document.EffectiveIDs(serving); len(maybe) > 0 {
		mending += "; or set the environment variable that turns on " + bounds.Names(maybe)
	}
	g.findings.fail(NoProvider, t.Path, "no tool provider that is surely there serves these tools", mending)
	return document.Identity{}, false
}

// hasKey tells whether a tool provider has the key that its type asks for.
func (g *generation) hasKey(provider document.Identity) bool {
	api := v1alpha2.APIToolRuntime.Name
	entry, _ := g.doc.ProviderOf(api, provider)
	row, known := g.Line.Provider(api, entry.Type())
	return !known || row.Key == "" || !g.env.Given().IsEmpty(document.Child(entry.Config(), row.Key))
}

func (g *generation) namedToolProvider(t *v1alpha2.ToolConfig, ids []document.Identity, types []string) (document.Identity, bool) {
	provider, ok := g.doc.Lookup(v1alpha2.APIToolRuntime.Name, g.env.Given()).Find(t.Provider)
	if !ok {
		g.findings.fail(UnknownProvider, t.Path+".provider", fmt.Sprintf("there is no tool provider with the id %q", t.Provider),
			"configure it under spec.providers.toolRuntime, or name one of "+bounds.Names(document.EffectiveIDs(ids)))
		return provider, false
	}
	providerType := g.doc.TypeOf(v1alpha2.APIToolRuntime.Name, provider)
	if _, known := g.Line.Provider(v1alpha2.APIToolRuntime.Name, providerType); known && !slices.Contains(types, providerType) {
		g.findings.fail(InvalidSpec, t.Path+".provider", fmt.Sprintf("a provider of type %s does not serve these tools", providerType),
			"name one of type "+strings.Join(types, ", "))
		return provider, false
	}
	if !g.env.Given().Enables(provider) {
		g.findings.fail(NoProvider, t.Path+".provider", "is there only where an environment variable turns it on",
			"set that variable in spec.workload.overrides.env, or configure the provider under spec.providers.toolRuntime")
		return provider, false
	}
	return provider, true
}

// toolGroups is the list of registered tool groups.
func (g *generation) toolGroups() *yaml.Node {
	return g.doc.EnsureRegistered("tool_groups")
}

// registeredWith returns the provider that the base registers a tool group with.
func (g *generation) registeredWith(id string) string {
	return document.IdentityOf(document.Child(g.groupEntries[id], "provider_id")).ID
}

// registerToolGroup lays a tool group over that of the base, else after those of the base.
func (g *generation) registerToolGroup(id string, provider document.Identity) *yaml.Node {
	entry := overlayByID(g.toolGroups(), g.groupEntries, "toolgroup_id", id)
	document.Set(entry, "provider_id", document.String(provider.Raw))
	return entry
}

// indexByID returns the first entries of a list by the text under a key.
func indexByID(list *yaml.Node, key string) map[string]*yaml.Node {
	entries := map[string]*yaml.Node{}
	for _, entry := range slices.Backward(document.Items(list)) {
		entries[document.Text(document.Child(entry, key))] = entry
	}
	return entries
}

// overlayByID returns the entry of a list with an id; one that is not there is added. known are the entries of the list by their ids.
func overlayByID(list *yaml.Node, known map[string]*yaml.Node, key, id string) *yaml.Node {
	if entry, ok := known[id]; ok {
		return entry
	}
	entry := &yaml.Node{Kind: yaml.MappingNode}
	document.Set(entry, key, document.String(id))
	list.Content = append(list.Content, entry)
	known[id] = entry
	return entry
}

// prefer puts a provider before the others that serve the same tool group: a server that makes its tool groups by itself takes the first
// one that has a key.
func (g *generation) prefer(provider document.Identity, types []string) {
	list := g.doc.ProvidersOf(v1alpha2.APIToolRuntime.Name)
	serves := func(n *yaml.Node) bool {
		return slices.Contains(types, document.Text(document.Child(n, "provider_type")))
	}
	first := slices.IndexFunc(document.Items(list), serves)
	at := slices.IndexFunc(document.Items(list), func(n *yaml.Node) bool {
		return document.IdentityOf(document.Child(n, "provider_id")).ID == provider.ID
	})
	if first < 0 || at <= first {
		return
	}
	entry := list.Content[at]
	list.Content = slices.Insert(slices.Delete(list.Content, at, at+1), first, entry)
}

// applyMCP makes the tools of an MCP server known: as a tool group, or as a connector.
func (g *generation) applyMCP(t *v1alpha2.ToolConfig, id string) {
	if !mcpIDPattern.MatchString(id) {
		g.findings.fail(InvalidSpec, t.Path, "what follows mcp:: is not an id", "use letters, digits, '.', '_' and '-', for example mcp::github")
		return
	}
	endpoint, path := t.Endpoint, t.Path+".endpoint"
	configured := g.mcpProvider(id)
	if endpoint == "" && configured != nil {
		endpoint, path = configured.Endpoint, configured.Path+".endpoint"
	}
	if endpoint == "" {
		g.findings.fail(InvalidEndpoint, path, "Required value: nothing tells the address of the MCP server",
			"for example endpoint: "+mcpAddress+", here or at the provider of spec.providers.toolRuntime with the id "+id)
		return
	}
	values := resolveEndpoint(endpoint, path, &catalog.Endpoint{Field: "uri", Kind: catalog.EndpointURL, Example: mcpAddress}, &g.findings)
	if len(values) == 0 {
		return
	}
	resolved := document.Text(values[0].value)
	if !g.Line.RegistersToolGroups {
		g.connect(t, id, resolved)
		return
	}
	provider, ok := g.mcpToolProvider(t, configured)
	if !ok {
		return
	}
	entry := g.registerToolGroup(catalog.MCPToolGroups+id, provider)
	document.Set(document.Ensure(entry, "mcp_endpoint", yaml.MappingNode), "uri", document.String(resolved))
	g.uses = append(g.uses, providerUse{api: v1alpha2.APIToolRuntime.Name, id: provider.ID, path: t.Path})
}

// connect lays a connector over that of the base with the same id, else after those of the base.
func (g *generation) connect(t *v1alpha2.ToolConfig, id, url string) {
	if _, ok := g.Line.Sections["connectors"]; !ok {
		g.unknownTool(t)
		return
	}
	if t.Provider != "" {
		g.findings.warn(NotAvailable, t.Path+".provider", fmt.Sprintf("has no effect: on release line %s the server itself talks to MCP servers", g.Line.Name),
			"remove it")
	}
	entry := overlayByID(document.Ensure(g.doc.Root(), "connectors", yaml.SequenceNode), g.connectors, "connector_id", id)
	document.Set(entry, "connector_type", document.String("mcp"))
	document.Set(entry, "url", document.String(url))
}

// mcpProvider returns the provider of the resource that is called like an MCP server and gives its address: its type is one for MCP
// servers, or one that the release line does not know.
func (g *generation) mcpProvider(id string) *v1alpha2.ProviderConfig {
	for _, group := range g.groups {
		for i := range group.Providers {
			p := &group.Providers[i]
			if group.API == v1alpha2.APIToolRuntime && p.EffectiveID() == id && g.servesMCP(p) {
				return p
			}
		}
	}
	return nil
}

func (g *generation) servesMCP(p *v1alpha2.ProviderConfig) bool {
	row, known := g.Line.Provider(v1alpha2.APIToolRuntime.Name, providerType(g.Line, v1alpha2.APIToolRuntime.Name, p.Provider))
	return !known || row.ToolGroup == catalog.MCPToolGroups
}

// mcpToolProvider finds the provider of the tool group of an MCP server as toolProvider does, but the one that is called like the MCP
// server comes first, and where there is none at all it is added: it needs no configuration.
func (g *generation) mcpToolProvider(t *v1alpha2.ToolConfig, configured *v1alpha2.ProviderConfig) (document.Identity, bool) {
	ids := g.doc.Identities(v1alpha2.APIToolRuntime.Name)
	types := g.Line.ToolGroupProviders(catalog.MCPToolGroups)
	if t.Provider == "" && configured != nil {
		return document.FindIdentity(ids, configured.EffectiveID())
	}
	serving := slices.ContainsFunc(g.env.Given().Enabled(ids), func(id document.Identity) bool {
		return slices.Contains(types, g.doc.TypeOf(v1alpha2.APIToolRuntime.Name, id))
	})
	if t.Provider == "" && !serving && len(types) > 0 {
		return g.addToolProvider(t, types[0])
	}
	return g.toolProvider(t, t.Name, types)
}

// addToolProvider adds a provider that needs no configuration, or turns on that of the base.
func (g *generation) addToolProvider(t *v1alpha2.ToolConfig, providerType string) (document.Identity, bool) {
	id := providerType[strings.Index(providerType, "::")+2:]
	entry := &yaml.Node{Kind: yaml.MappingNode}
	list := g.doc.EnsureProviders(v1alpha2.APIToolRuntime.Name)
	for _, other := range list.Content {
		switch {
		case document.IdentityOf(document.Child(other, "provider_id")).ID != id:
		case document.Text(document.Child(other, "provider_type")) == providerType:
			entry = other
		default:
			g.findings.fail(Conflict, t.Path, fmt.Sprintf("needs a provider of type %s, and another provider has the id %s", providerType, id),
				"configure one with another id under spec.providers.toolRuntime")
			return document.Identity{}, false
		}
	}
	document.Set(entry, "provider_id", document.String(id))
	document.Set(entry, "provider_type", document.String(providerType))
	list.Content = overlay(list.Content, id, entry)
	return document.IdentityOf(document.Child(entry, "provider_id")), true
}

// warnUnusedEndpoints tells of addresses of MCP servers whose tools nobody asks for. tools are the tool groups of the resource.
func (g *generation) warnUnusedEndpoints(tools map[string]string) {
	for _, group := range g.groups {
		if group.API != v1alpha2.APIToolRuntime {
			continue
		}
		for i := range group.Providers {
			p := &group.Providers[i]
			row, known := g.Line.Provider(group.API.Name, providerType(g.Line, group.API.Name, p.Provider))
			if _, used := tools[catalog.MCPToolGroups+p.EffectiveID()]; used || p.Endpoint == "" || !known || row.ToolGroup != catalog.MCPToolGroups {
				continue
			}
			g.findings.warn(InvalidSpec, p.Path+".endpoint", "has no effect: the address of an MCP server counts only for its tools",
				"name them in spec.resources.tools: "+catalog.MCPToolGroups+p.EffectiveID())
		}
	}
}
