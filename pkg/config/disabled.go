// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/internal/suggest"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
)

// sectionOf are the sections of the configuration that mean nothing without an API.
var sectionOf = map[string]string{
	"vector_io":    "vector_stores",
	"safety":       "safety",
	"tool_runtime": "connectors",
	"telemetry":    "telemetry",
}

// knownAPI finds an API that any release line knows, by its name in camelCase or snake_case.
func knownAPI(name string) (string, bool) {
	fold := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
	known := catalog.KnownAPIs()
	at := slices.IndexFunc(known, func(api string) bool { return fold(api) == fold(name) })
	if at < 0 {
		return "", false
	}
	return known[at], true
}

// knownAPIs returns the APIs among some names.
func knownAPIs(names []string) []string {
	var apis []string
	for _, name := range names {
		if api, ok := knownAPI(name); ok && !slices.Contains(apis, api) {
			apis = append(apis, api)
		}
	}
	return apis
}

// parseDisabled reads spec.disabled, and forgets what the resource configures of these APIs: disabled wins.
func (g *generation) parseDisabled() {
	for i, name := range g.Spec.Disabled {
		path := fmt.Sprintf("spec.disabled[%d]", i)
		api, ok := knownAPI(name)
		if !ok {
			if g.findings.skip(Error) {
				continue
			}
			known := catalog.KnownAPIs()
			g.findings.fail(InvalidSpec, path, "no release line has an API of this name",
				suggest.Sentence(name, known)+"there are "+strings.Join(known, ", "))
			continue
		}
		if _, section := g.Line.Sections[sectionOf[api]]; !section || api != "telemetry" {
			g.noteAbsent(api, path)
		}
	}
	g.off = knownAPIs(g.Spec.Disabled)
	g.groups = slices.DeleteFunc(g.groups, func(group v1alpha2.ProviderGroup) bool {
		return g.ignoreDisabled(group.API.Name, "spec.providers."+group.API.Field, len(group.Providers))
	})
	if g.ignoreDisabled("inference", "spec.resources.models", len(g.models)) {
		g.models = nil
	}
	if g.ignoreDisabled("safety", "spec.resources.shields", len(g.shields)) {
		g.shields = nil
	}
	if g.ignoreDisabled("tool_runtime", "spec.resources.tools", len(g.tools)) {
		g.tools = nil
	}
}

// noteAbsent tells of a disabled API that the release line does not have anyway.
func (g *generation) noteAbsent(api, path string) {
	absence, absent := g.Line.Absent(api)
	if !absent {
		return
	}
	mending := "remove it"
	if absence.Instead != "" {
		mending += "; " + absence.Instead
	}
	g.findings.warn(NotAvailable, path, fmt.Sprintf("release line %s has no API %s, so there is nothing to disable", g.Line.Name, api), mending)
}

// ignoreDisabled tells whether something of the resource does not count because its API is disabled, and warns of it.
func (g *generation) ignoreDisabled(api, path string, count int) bool {
	if count == 0 || !slices.Contains(g.off, api) {
		return false
	}
	g.findings.warn(Disabled, path, fmt.Sprintf("is ignored, because spec.disabled names %s", api), "remove one of the two")
	return true
}

// removal takes APIs and providers out of a configuration, and everything that refers to them.
type removal struct {
	*generation
	// apis are the APIs that are gone.
	apis []string
	// ids are the ids of the providers that are gone, by API.
	ids map[string][]string
	// dependents are the APIs and providers that went along, for the warning.
	dependents []string
}

// applyDisabled takes the disabled APIs out of the configuration, with what cannot work without them.
func (g *generation) applyDisabled() {
	if len(g.off) == 0 {
		return
	}
	r := &removal{generation: g, ids: map[string][]string{}}
	g.listAPIs()
	for _, api := range g.off {
		r.removeAPI(api)
	}
	for r.removeDependents() {
	}
	r.removeReferences()
	if apis := g.doc.APIs(); apis != nil && len(apis.Content) == 0 && g.Line.APIsMustBeServed {
		g.findings.fail(InvalidSpec, "spec.disabled", "leaves no API that the server could serve", "remove an API from it")
	}
	if len(r.dependents) > 0 {
		slices.Sort(r.dependents)
		g.findings.warn(Disabled, "spec.disabled", "takes along what cannot work without these APIs: "+bounds.Names(r.dependents),
			"to keep them, remove the API that they need from the list; to say that it is meant, name the APIs among them in the list too")
	}
}

// listAPIs writes out the APIs where the server would serve all: one that is missing in a list is off. Those with a registry are there
// also without providers.
func (g *generation) listAPIs() {
	apis := g.doc.APIs()
	if apis != nil && (len(apis.Content) > 0 || !g.Line.APIsMustBeServed) {
		return
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, api := range g.Line.APINames() {
		if g.Line.APIs[api].Table != "" || g.doc.HasProvider(api) {
			list.Content = append(list.Content, document.String(api))
		}
	}
	if !g.Line.APIsMustBeServed {
		for _, api := range g.Line.InternalAPIs {
			list.Content = append(list.Content, document.String(api))
		}
	}
	document.Set(g.doc.Root(), "apis", list)
}

func (r *removal) isGone(api string) bool { return slices.Contains(r.apis, api) }

func (r *removal) removeAPI(api string) {
	if r.isGone(api) {
		return
	}
	r.apis = append(r.apis, api)
	table := r.Line.APIs[api].Table
	if apis := r.doc.APIs(); apis != nil {
		apis.Content = slices.DeleteFunc(apis.Content, func(n *yaml.Node) bool { return n.Value == api || (table != "" && n.Value == table) })
	}
	r.ids[api] = append(r.ids[api], document.EffectiveIDs(r.doc.Identities(api))...)
	document.Drop(r.doc.Section("providers"), api)
}

// removeDependents removes the providers that need what is gone, and APIs that lose their last provider by that. It tells whether it
// removed any.
func (r *removal) removeDependents() bool {
	removed := false
	providers := r.doc.Section("providers")
	for _, api := range document.Keys(providers) {
		list := document.Child(providers, api)
		var kept []*yaml.Node
		var ids []string
		for _, entry := range document.Items(list) {
			if r.mustGo(api, entry) {
				ids = append(ids, document.IdentityOf(document.Child(entry, "provider_id")).ID)
			} else {
				kept = append(kept, entry)
			}
		}
		if len(ids) == 0 {
			continue
		}
		removed = true
		list.Content = kept
		r.ids[api] = append(r.ids[api], ids...)
		if r.doc.HasProvider(api) {
			r.dependents = append(r.dependents, fmt.Sprintf("%s of %s", bounds.List(effective(ids), " and "), api))
			continue
		}
		r.removeAPI(api)
		r.dependents = append(r.dependents, api)
	}
	return removed
}

// mustGo tells whether a provider needs an API that is gone. One that the resource itself configures or uses cannot go silently.
func (r *removal) mustGo(api string, entry *yaml.Node) bool {
	row, known := r.Line.Provider(api, document.Text(document.Child(entry, "provider_type")))
	id := document.IdentityOf(document.Child(entry, "provider_id"))
	if !known || id.Presence == document.Disabled {
		return false
	}
	needed := slices.IndexFunc(row.Needs, func(need string) bool {
		of, _ := r.Line.APIOf(need)
		return r.isGone(of)
	})
	if needed < 0 {
		return false
	}
	for _, path := range r.configuredAt(api, id.ID) {
		r.findings.fail(Disabled, path, fmt.Sprintf("cannot work without the API %s, which spec.disabled takes away", row.Needs[needed]),
			"remove it, or the API from spec.disabled")
	}
	return true
}

// configuredAt returns the fields of the resource that configure or use a provider.
func (g *generation) configuredAt(api, id string) []string {
	var paths []string
	for _, group := range g.groups {
		for i := range group.Providers {
			if p := &group.Providers[i]; group.API.Name == api && p.EffectiveID() == id {
				paths = append(paths, p.Path)
			}
		}
	}
	for _, use := range g.uses {
		if use.api == api && use.id == id {
			paths = append(paths, use.path)
		}
	}
	return paths
}

// effective names ids for a message; one that only the environment decides has no name.
func effective(ids []string) []string {
	named := make([]string, len(ids))
	for i, id := range ids {
		if named[i] = id; id == "" {
			named[i] = "a provider"
		}
	}
	slices.Sort(named)
	return slices.Compact(named)
}

// removeReferences removes what names APIs or providers that are gone: registered resources, and the defaults that name them.
func (r *removal) removeReferences() {
	for _, api := range r.apis {
		if section := sectionOf[api]; section != "" {
			document.Drop(r.doc.Root(), section)
		}
	}
	resources := r.doc.Section("registered_resources")
	shields := slices.Clone(document.Items(document.Child(resources, "shields")))
	for _, name := range document.Keys(resources) {
		api, ok := providersOf[name]
		if !ok {
			continue
		}
		if r.isGone(api) {
			document.Drop(resources, name)
			continue
		}
		if list := document.Child(resources, name); list != nil {
			list.Content = slices.DeleteFunc(list.Content, func(entry *yaml.Node) bool { return r.lost(api, document.Child(entry, "provider_id")) })
		}
	}
	r.removeDefaults()
	r.removeShieldDefault(shields)
}

// lost tells whether a reference names a provider that is gone.
func (r *removal) lost(api string, ref *yaml.Node) bool {
	name := document.IdentityOf(ref).ID
	if name == "" || !slices.Contains(r.ids[api], name) {
		return false
	}
	_, another := document.FindIdentity(r.doc.Identities(api), name)
	return !another
}

func (r *removal) removeDefaults() {
	defaults := r.doc.Section("vector_stores")
	if r.lost("vector_io", document.Child(defaults, "default_provider_id")) {
		document.Drop(defaults, "default_provider_id")
	}
	for _, ref := range modelReferences {
		holder := document.Descend(defaults, ref.path[:len(ref.path)-1])
		last := ref.path[len(ref.path)-1]
		if r.isGone("inference") || r.lost("inference", document.Child(document.Child(holder, last), "provider_id")) {
			document.Drop(holder, last)
		}
	}
}

// removeShieldDefault removes the default shield that went with its provider.
func (r *removal) removeShieldDefault(before []*yaml.Node) {
	safety := r.doc.Section("safety")
	name := document.Text(document.Child(safety, "default_shield_id"))
	named := func(n *yaml.Node) bool { return document.Text(document.Child(n, "shield_id")) == name }
	after := document.Items(r.doc.Registered("shields"))
	if name != "" && slices.ContainsFunc(before, named) && !slices.ContainsFunc(after, named) {
		document.Drop(safety, "default_shield_id")
	}
}
