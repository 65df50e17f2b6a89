// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// otherNames are the names of APIs on other release lines.
var otherNames = map[string]string{"agents": "responses", "responses": "agents", "vector_dbs": "vector_stores"}

// apis renames and removes APIs under apis and providers.
func (m *migration) apis() {
	providers := document.Child(m.root, "providers")
	for _, p := range pairs(providers) {
		path := "providers." + p.key
		other := otherNames[p.key]
		_, known := m.line.APIs[p.key]
		_, renamed := m.line.APIs[other]
		switch {
		case (known || renamed) && document.IsNull(p.value):
			document.Drop(providers, p.key)
			m.add(Removed, p.value, path, "null is removed", "the server does not start with it")
		case known && (len(m.line.Rows[p.key]) > 0 || len(document.Items(p.value)) == 0):
		case renamed && document.Child(providers, other) == nil:
			document.Drop(providers, other)
			rename(providers, p.key, other)
			m.add(Rewritten, p.value, path, "is "+other+" now", m.reads("this name"))
		case m.knownElsewhere(p.key):
			document.Drop(providers, p.key)
			m.removed = append(m.removed, p.key)
			m.add(Removed, p.value, path, "is removed with its providers", m.withoutAPI(p.key))
		}
	}
	m.apiNames(document.Child(m.root, "apis"))
	m.telemetry()
}

// apiNames renames and removes APIs in the list apis.
func (m *migration) apiNames(list *yaml.Node) {
	var names []*yaml.Node
	for i, n := range document.Items(list) {
		name, path := document.Text(n), index("apis", i)
		_, known := m.line.APIOf(name)
		_, renamed := m.line.APIOf(otherNames[name])
		switch {
		case known && !slices.Contains(m.removed, name) || slices.Contains(m.line.InternalAPIs, name):
		case renamed:
			n.Value = otherNames[name]
			m.add(Rewritten, n, path, name+" is "+n.Value+" now", m.reads("this name"))
		case m.knownElsewhere(name):
			m.add(Removed, n, path, name+" is removed", m.withoutAPI(name))
			continue
		}
		if !slices.ContainsFunc(names, func(other *yaml.Node) bool { return other.Value == n.Value }) {
			names = append(names, n)
		}
	}
	if list != nil && list.Kind == yaml.SequenceNode && len(names) < len(list.Content) {
		list.Content = names
	}
}

// knownElsewhere reports whether a name is an API of another release line.
func (m *migration) knownElsewhere(api string) bool {
	if _, ok := m.line.Absent(api); ok {
		return true
	}
	return elsewhere(func(l *catalog.Line) bool {
		other, ok := l.APIOf(api)
		return ok && len(l.Rows[other]) > 0
	}) && len(m.line.Rows[api]) == 0
}

// withoutAPI returns the reason why an API is removed.
func (m *migration) withoutAPI(api string) string {
	reason := m.hasNo("API " + api)
	if _, ok := m.line.APIs[api]; ok {
		reason = m.hasNo("providers of the API " + api)
	}
	if absence, ok := m.line.Absent(api); ok && absence.Instead != "" {
		reason += "; " + absence.Instead
	}
	return reason
}

// telemetry keeps telemetry on where the release line has a section for it instead of the API.
func (m *migration) telemetry() {
	const name = "telemetry"
	if _, ok := m.line.Sections[name]; !ok || !slices.Contains(m.removed, name) || document.Child(m.root, name) != nil {
		return
	}
	document.Set(document.Ensure(m.root, name, yaml.MappingNode), "enabled", document.Bool(true))
	m.add(Added, nil, "telemetry.enabled", "is true now", m.reads("this field instead of providers"))
}
