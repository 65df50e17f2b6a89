// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// providersOf tells, for each list of registered_resources, the API whose providers its entries name.
var providersOf = map[string]string{
	"models":        "inference",
	"shields":       "safety",
	"vector_stores": "vector_io",
	"tool_groups":   "tool_runtime",
	"datasets":      "datasetio",
	"scoring_fns":   "scoring",
	"benchmarks":    "eval",
}

// allProviders is the provider of a model that is registered with every provider, on lines that know this.
const allProviders = "all"

// The backends that the server makes itself where the configuration has no storage section.
var implicitBackends = []string{"kv_default", "sql_default"}

// checkIntegrity makes sure that everything that the configuration names is there: the server would otherwise crash
// on start, or come up without what was asked for.
func (g *generation) checkIntegrity() {
	resources := child(g.root, "registered_resources")
	for _, name := range keys(resources) {
		api, ok := providersOf[name]
		if !ok {
			continue
		}
		for i, item := range items(child(resources, name)) {
			if name == "models" && g.Line.AllProviders && text(child(item, "provider_id")) == allProviders {
				continue
			}
			g.checkProviderID(child(item, "provider_id"), api, fmt.Sprintf("registered_resources.%s[%d].provider_id", name, i))
		}
	}
	defaults := child(g.root, "vector_stores")
	g.checkProviderID(child(defaults, "default_provider_id"), "vector_io", "vector_stores.default_provider_id")
	for _, name := range []string{"default_embedding_model", "default_reranker_model"} {
		g.checkProviderID(child(child(defaults, name), "provider_id"), "inference", "vector_stores."+name+".provider_id")
	}
	g.checkDefaultShield()
	g.checkBackends()
	g.checkNeeds()
	g.checkPlaces()
}

// checkProviderID checks one reference to a provider. An absent or empty one is skipped by the server, and one that
// the environment decides cannot be judged; a provider that may be there counts as there.
func (g *generation) checkProviderID(ref *yaml.Node, api, path string) {
	name := identityOf(ref)
	ids := identities(g.root, api)
	if name.id == "" || slices.ContainsFunc(ids, func(id identity) bool { return id.id == name.id || id.presence == unknown }) {
		return
	}
	g.broken(path, fmt.Sprintf("there is no %s provider with the id %q", api, name.id), effectiveIDs(ids))
}

// checkDefaultShield checks the default shield as the server does: only where any shield is registered.
func (g *generation) checkDefaultShield() {
	name := text(child(child(g.root, "safety"), "default_shield_id"))
	shields := items(child(child(g.root, "registered_resources"), "shields"))
	if name == "" || len(shields) == 0 || envPattern.MatchString(name) {
		return
	}
	var known []string
	for _, shield := range shields {
		id := text(child(shield, "shield_id"))
		if id == name || envPattern.MatchString(id) {
			return
		}
		known = append(known, id)
	}
	g.broken("safety.default_shield_id", fmt.Sprintf("there is no shield %q", name), known)
}

func (g *generation) checkBackends() {
	known := implicitBackends
	storage := child(g.root, "storage")
	if backends := child(storage, "backends"); backends != nil {
		known = keys(backends)
	}
	report := func(where string, broken []brokenBackend) {
		for _, b := range broken {
			g.broken(where+b.path+".backend", fmt.Sprintf("there is no storage backend %q", b.name), known)
		}
	}
	report("storage.stores", brokenBackends(child(storage, "stores"), known))
	providers := child(g.root, "providers")
	for _, api := range keys(providers) {
		for i, entry := range items(child(providers, api)) {
			if text(child(entry, "provider_id")) != disabledID {
				report(fmt.Sprintf("providers.%s[%d].config", api, i), brokenBackends(child(entry, "config"), known))
			}
		}
	}
}

// brokenBackend is a reference to a storage backend that is not there; its path begins at the tree that was searched.
type brokenBackend struct{ path, name string }

// brokenBackends searches a tree for references to storage backends: maps with a backend and a namespace or table in
// it. A lone "backend" can be any option of a provider. Paths are put together only where something is wrong.
func brokenBackends(n *yaml.Node, known []string) []brokenBackend {
	var broken []brokenBackend
	add := func(at func() string, inner []brokenBackend) {
		for _, b := range inner {
			broken = append(broken, brokenBackend{path: at() + b.path, name: b.name})
		}
	}
	for i, item := range items(n) {
		add(func() string { return fmt.Sprintf("[%d]", i) }, brokenBackends(item, known))
	}
	if n == nil || n.Kind != yaml.MappingNode {
		return broken
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		add(func() string { return "." + n.Content[i].Value }, brokenBackends(n.Content[i+1], known))
	}
	name := text(child(n, "backend"))
	isReference := child(n, "namespace") != nil || child(n, "table_name") != nil
	if isReference && name != "" && !envPattern.MatchString(name) && !slices.Contains(known, name) {
		broken = append(broken, brokenBackend{name: name})
	}
	return broken
}

func (g *generation) broken(path, message string, known []string) {
	mending := "there is none at all"
	if len(known) > 0 {
		mending = "name one of " + strings.Join(known, ", ")
	}
	g.findings.fail(BrokenReference, "config.yaml: "+path, message,
		mending+"; the reference comes from the base configuration "+oneLine(g.Base.name)+" or from settings of a provider")
}
