// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/resource"
)

const registered = "registered_resources"

// lists are the lists of resources, by their names in llama-stack 0.2 at the top level.
var lists = map[string]string{
	"models": "models", "shields": "shields", "vector_dbs": "vector_stores", "datasets": "datasets",
	"scoring_fns": "scoring_fns", "benchmarks": "benchmarks", "tool_groups": "tool_groups",
}

// resources moves the lists of resources to where the release line reads them.
func (m *migration) resources() {
	for _, p := range pairs(m.root) {
		if to, ok := lists[p.key]; ok && (isListOfMaps(p.value) || document.IsNull(p.value)) {
			m.topLevelList(p, to)
		}
	}
	section := document.Child(m.root, registered)
	if section == nil {
		if at, ok := document.IndexOf(m.root, registered); ok {
			m.dropNull(m.root, m.line.Sections[registered], pair{registered, m.root.Content[at]}, registered)
		}
		return
	}
	for _, p := range pairs(section) {
		m.list(section, p)
	}
}

func isListOfMaps(n *yaml.Node) bool {
	return n.Kind == yaml.SequenceNode && !slices.ContainsFunc(n.Content, func(item *yaml.Node) bool {
		return item.Kind != yaml.MappingNode
	})
}

// topLevelList moves a list of llama-stack 0.2.
func (m *migration) topLevelList(p pair, to string) {
	_, known := m.line.ResourceFields(to)
	if !known || len(document.Items(p.value)) == 0 {
		document.Drop(m.root, p.key)
		detail, reason := "the empty list is removed", m.reads(registered+"."+to)
		if len(document.Items(p.value)) > 0 {
			detail = "is removed"
		}
		if !known {
			reason = m.withoutList(to)
		}
		m.add(Removed, p.value, p.key, detail, reason)
		return
	}
	m.old = true
	renameIDs(p.value, to)
	if document.Child(m.root, registered) == nil {
		document.Drop(m.root, registered)
		at, _ := document.IndexOf(m.root, p.key)
		m.root.Content[at-1].Value = registered
		m.root.Content[at] = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{document.String(to), p.value}}
	} else {
		document.Drop(m.root, p.key)
		list := document.Ensure(document.Child(m.root, registered), to, yaml.SequenceNode)
		list.Content = append(list.Content, p.value.Content...)
	}
	detail := "is " + registered + "." + to + " now"
	if to == "models" {
		detail += ", and clients call a model by the name of its provider: " + resource.ServedName(m.line, "<provider_id>",
			"<model_id>", "<provider_model_id>")
	}
	m.add(Rewritten, p.value, p.key, detail, m.reads("only that"))
}

// renameIDs renames the fields of vector databases, which are vector stores now.
func renameIDs(list *yaml.Node, to string) {
	for _, entry := range document.Items(list) {
		if to == "vector_stores" {
			rename(entry, "vector_db_id", "vector_store_id")
			rename(entry, "provider_vector_db_id", "provider_vector_store_id")
			rename(entry, "vector_db_name", "vector_store_name")
		}
	}
}

func (m *migration) withoutList(list string) string {
	if api := resource.ProviderAPIs[list]; m.knownElsewhere(api) {
		return m.withoutAPI(api)
	}
	return m.hasNo(list)
}

// list rewrites a list of registered resources.
func (m *migration) list(section *yaml.Node, p pair) {
	path := registered + "." + p.key
	fields, known := m.line.ResourceFields(p.key)
	_, connectors := m.line.Sections[resource.ListConnectors]
	other := elsewhere(func(l *catalog.Line) bool { _, ok := l.ResourceFields(p.key); return ok })
	switch to := lists[p.key]; {
	case !known && p.key == "vector_dbs" && len(document.Items(p.value)) > 0 && document.Child(section, to) == nil:
		document.Drop(section, to)
		renameIDs(p.value, to)
		rename(section, p.key, to)
		m.add(Rewritten, p.value, path, "is "+to+" now", m.reads("this name"))
	case !known && p.key == resource.ListConnectors && connectors && document.Child(m.root, p.key) == nil:
		document.Drop(section, p.key)
		document.Drop(m.root, p.key)
		document.Set(m.root, p.key, p.value)
		m.add(Rewritten, p.value, path, "is "+p.key+" now", m.reads("only that"))
	case !known && (p.key == "vector_dbs" || other):
		document.Drop(section, p.key)
		detail := "is removed"
		if len(document.Items(p.value)) == 0 {
			detail = "the empty list is removed"
		}
		m.add(Removed, p.value, path, detail, m.withoutList(p.key))
	case !known:
	case m.dropNull(section, m.line.Objects[m.line.Sections[registered].Object][p.key], p, path):
	default:
		m.entries(p, fields, path)
	}
}

// entries rewrites the entries of a list of registered resources.
func (m *migration) entries(p pair, fields map[string]catalog.Field, path string) {
	var entries []*yaml.Node
	for i, entry := range document.Items(p.value) {
		at := index(path, i)
		if p.key == resource.ListModels && !m.line.AllProviders &&
			document.Text(document.Child(entry, "provider_id")) == resource.AllProviders {
			m.add(Removed, entry, at, "is removed", m.hasNo("models of all providers"))
			continue
		}
		entries = append(entries, entry)
		m.fields(fields, entry, at, func(l *catalog.Line, key string) bool {
			other, _ := l.ResourceFields(p.key)
			_, ok := other[key]
			return ok
		})
		if p.key == resource.ListModels {
			m.served(entry, at)
		}
	}
	if len(entries) < len(document.Items(p.value)) {
		p.value.Content = entries
	}
}

// served reports a model that clients call by another name on this release line.
func (m *migration) served(model *yaml.Node, path string) {
	provider := document.IdentityOf(document.Child(model, "provider_id")).ID
	name := func(line *catalog.Line) string {
		return resource.ServedName(line, provider, document.Text(document.Child(model, "model_id")),
			document.Text(document.Child(model, "provider_model_id")))
	}
	if len(m.from) == 0 || provider == "" {
		return
	}
	before := ""
	for _, from := range m.from {
		line, _ := catalog.Get(from)
		if before = name(line); before == name(m.line) {
			return
		}
	}
	m.add(Kept, model, path, "has another name for clients: "+limits.Message(name(m.line))+", and was "+
		limits.Message(before), "change the clients")
}

// oldModelNames rewrites references to models by their bare ids, which llama-stack 0.2 takes.
func (m *migration) oldModelNames() {
	if !m.old {
		return
	}
	names := map[string]string{}
	for _, model := range document.Items(m.child(registered, resource.ListModels)) {
		id := document.Text(document.Child(model, "model_id"))
		provider := document.IdentityOf(document.Child(model, "provider_id")).ID
		if id != "" && provider != "" {
			names[id] = resource.ServedName(m.line, provider, id, document.Text(document.Child(model, "provider_model_id")))
		}
	}
	for _, p := range pairs(m.child(registered)) {
		key := map[string]string{resource.ListVectorStores: "embedding_model", "shields": "provider_shield_id"}[p.key]
		for i, entry := range document.Items(p.value) {
			n := document.Child(entry, key)
			if served := names[document.Text(n)]; served != "" && served != n.Value {
				n.Value = served
				m.add(Rewritten, n, index(registered+"."+p.key, i)+"."+key, "is "+limits.Message(served)+" now",
					"the server knows the model by this name")
			}
		}
	}
}

// toolGroups moves tool groups to the form of the release line: from 0.7 on, the server makes them from its providers,
// and reads MCP servers under connectors.
func (m *migration) toolGroups() {
	section := document.Child(m.root, registered)
	groups := document.Items(document.Child(section, resource.ListToolGroups))
	if m.line.RegistersToolGroups {
		m.renameToolGroups(section)
		m.connectorsToToolGroups()
		return
	}
	if len(groups) == 0 {
		return
	}
	path := registered + "." + resource.ListToolGroups
	for i, group := range groups {
		at := index(path, i)
		uri := document.Descend(group, []string{"mcp_endpoint", "uri"})
		if uri == nil {
			m.add(Removed, group, at, "is removed", "the server makes tool groups from its providers of tool_runtime")
			continue
		}
		id := strings.TrimPrefix(document.Text(document.Child(group, "toolgroup_id")), catalog.MCPToolGroups)
		connectors := document.Ensure(m.root, resource.ListConnectors, yaml.SequenceNode)
		if !slices.ContainsFunc(connectors.Content, func(n *yaml.Node) bool {
			return document.Text(document.Child(n, "connector_id")) == id
		}) {
			entry := &yaml.Node{Kind: yaml.MappingNode, HeadComment: group.HeadComment}
			document.Set(entry, "connector_id", document.String(id))
			document.Set(entry, "connector_type", document.String("mcp"))
			document.Set(entry, "url", uri)
			connectors.Style = 0
			connectors.Content = append(connectors.Content, entry)
		}
		m.add(Rewritten, group, at, "is a connector now", m.reads("MCP servers only under connectors"))
		if document.Child(group, "args") != nil {
			m.add(Removed, group, at+".args", "is removed", "a connector has no arguments")
		}
	}
	document.Drop(section, resource.ListToolGroups)
	if len(section.Content) == 0 {
		document.Drop(m.root, registered)
	}
}

// renameToolGroups renames tool groups that have another name on this release line, and removes those of types that no
// release line has.
func (m *migration) renameToolGroups(section *yaml.Node) {
	list := document.Child(section, resource.ListToolGroups)
	var groups []*yaml.Node
	for i, group := range document.Items(list) {
		id := document.Child(group, "toolgroup_id")
		at := index(registered+"."+resource.ListToolGroups, i)
		other, _ := catalog.OtherToolGroup(document.Text(id))
		switch {
		case document.Text(id) == "builtin::code_interpreter":
			m.add(Removed, group, at, "is removed", m.hasNo("code interpreter"))
			continue
		case len(m.line.ToolGroupProviders(document.Text(id))) == 0 && len(m.line.ToolGroupProviders(other)) > 0:
			id.Value = other
			m.add(Rewritten, id, at+".toolgroup_id", "is "+other+" now", m.reads("this name"))
		}
		groups = append(groups, group)
	}
	if len(groups) < len(document.Items(list)) {
		list.Content = groups
	}
	m.builtinToolGroups(list)
}

// builtinToolGroups registers the tool groups that newer release lines make from their providers.
func (m *migration) builtinToolGroups(list *yaml.Node) {
	if list != nil || len(m.from) == 0 || slices.ContainsFunc(m.from, func(name string) bool {
		line, _ := catalog.Get(name)
		return line.RegistersToolGroups
	}) {
		return
	}
	seen := map[string]bool{}
	for _, entry := range document.Items(m.child("providers", "tool_runtime")) {
		at := document.Entry{API: "tool_runtime", Node: entry}
		row, known := m.line.Provider(at.API, at.Type())
		id := at.Identity().ID
		if !known || row.ToolGroup == "" || row.ToolGroup == catalog.MCPToolGroups || seen[row.ToolGroup] || id == "" {
			continue
		}
		seen[row.ToolGroup] = true
		m.addToolGroup(row.ToolGroup, at.Identity().Raw, nil)
		m.add(Added, entry, registered+"."+resource.ListToolGroups, "has "+row.ToolGroup+" now",
			"release line "+m.line.Name+" does not make it from the provider")
	}
}

func (m *migration) addToolGroup(id, provider string, uri *yaml.Node) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	document.Set(n, "toolgroup_id", document.String(id))
	document.Set(n, "provider_id", document.String(provider))
	if uri != nil {
		document.Set(document.Ensure(n, "mcp_endpoint", yaml.MappingNode), "uri", uri)
	}
	section := document.Ensure(m.root, registered, yaml.MappingNode)
	list := document.Ensure(section, resource.ListToolGroups, yaml.SequenceNode)
	list.Style = 0
	list.Content = append(list.Content, n)
}

// connectorsToToolGroups registers MCP servers as tool groups where the release line has no connectors.
func (m *migration) connectorsToToolGroups() {
	connectors := document.Child(m.root, resource.ListConnectors)
	if _, reads := m.line.Sections[resource.ListConnectors]; reads || len(document.Items(connectors)) == 0 {
		return
	}
	const api, name = "tool_runtime", "remote::model-context-protocol"
	provider := ""
	for _, entry := range document.Items(m.child("providers", api)) {
		if at := (document.Entry{API: api, Node: entry}); at.Type() == name && at.Identity().Presence != document.Disabled {
			provider = at.Identity().Raw
		}
	}
	if provider == "" {
		provider = "model-context-protocol"
		n := &yaml.Node{Kind: yaml.MappingNode}
		document.Set(n, "provider_id", document.String(provider))
		document.Set(n, "provider_type", document.String(name))
		list := document.Ensure(document.Ensure(m.root, "providers", yaml.MappingNode), api, yaml.SequenceNode)
		list.Style = 0
		list.Content = append(list.Content, n)
		m.add(Added, nil, "providers."+api, "has a provider of type "+name+" now", "it serves MCP servers")
	}
	for i, entry := range document.Items(connectors) {
		id := document.Text(document.Child(entry, "connector_id"))
		m.addToolGroup(catalog.MCPToolGroups+id, provider, document.Child(entry, "url"))
		m.add(Rewritten, entry, fmt.Sprintf("%s[%d]", resource.ListConnectors, i), "is a tool group now",
			m.reads("MCP servers only as tool groups"))
	}
	document.Drop(m.root, resource.ListConnectors)
}
