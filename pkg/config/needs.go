// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
)

// checkNeeds reports the providers of the resource that need an API which this configuration does not serve: the server would
// not start.
func (g *generation) checkNeeds() {
	for _, p := range g.providers {
		if _, there := findIdentity(identities(g.root, p.api.Name), p.EffectiveID()); p.row == nil || !there {
			continue
		}
		for _, need := range p.row.Needs {
			if !g.serves(need) {
				g.findings.fail(BrokenReference, p.Path+".provider",
					fmt.Sprintf("%s needs the API %s, which the base configuration %s does not serve", p.providerType, need, oneLine(g.Base.name)),
					"choose a distribution that serves it, or another provider")
			}
		}
	}
}

// serves tells whether the server will serve an API. One with a registry is served by a router as soon as it is listed, and
// its registry with it; another one by a provider, whatever is listed.
func (g *generation) serves(api string) bool {
	if slices.Contains(g.Line.InternalAPIs, api) {
		return true
	}
	listed := items(child(g.root, "apis"))
	for name, known := range g.Line.APIs {
		switch {
		case known.Table == "":
			if name == api && slices.ContainsFunc(identities(g.root, api), func(id identity) bool { return id.presence != never }) {
				return true
			}
		case name == api || known.Table == api:
			return len(listed) == 0 || slices.ContainsFunc(listed, func(n *yaml.Node) bool { return n.Value == name })
		}
	}
	return false
}

// checkPlaces reports a provider of the resource that keeps its state where another provider keeps its own: one would overwrite
// the other's. That takes an explicit setting, or a base with unusual names.
func (g *generation) checkPlaces() {
	type owner struct{ api, id, place string }
	first := map[string]owner{}
	ofResource := map[owner]string{}
	for _, p := range g.providers {
		ofResource[owner{api: p.api.Name, id: p.EffectiveID()}] = p.Path
	}
	for _, place := range storePlaces(child(child(g.root, "storage"), "stores")) {
		first[place] = owner{api: "storage", id: "stores", place: place}
	}
	providers := child(g.root, "providers")
	for _, api := range keys(providers) {
		for _, entry := range items(child(providers, api)) {
			id := identityOf(child(entry, "provider_id"))
			if id.presence == never {
				continue
			}
			for _, place := range g.placesOf(api, entry) {
				other, taken := first[place]
				this := owner{api: api, id: id.id, place: place}
				if !taken {
					first[place] = this
					continue
				}
				path, mine := ofResource[owner{api: api, id: id.id}]
				if !mine {
					path, mine = ofResource[owner{api: other.api, id: other.id}]
				}
				if mine && other != this {
					g.findings.fail(Conflict, path, fmt.Sprintf("%s and %s would keep their state in one place, %s", other.api+"/"+other.id, api+"/"+id.id, place),
						"give each a namespace, table or file of its own under settings")
				}
			}
		}
	}
}

// placesOf returns where an entry keeps its state.
func (g *generation) placesOf(api string, entry *yaml.Node) []string {
	config := child(entry, "config")
	places := storePlaces(config)
	if row, ok := g.Line.Provider(api, text(child(entry, "provider_type"))); ok && row.DataPath != "" {
		if file := text(child(config, row.DataPath)); file != "" {
			places = append(places, "file "+file)
		}
	}
	return places
}

func storePlaces(n *yaml.Node) []string {
	var places []string
	for _, kind := range []catalog.StoreKind{catalog.KV, catalog.SQL} {
		backend, place := text(child(n, "backend")), text(child(n, kind.Place()))
		if backend != "" && place != "" {
			places = append(places, strings.ReplaceAll(kind.Place(), "_name", "")+" "+place+" of backend "+backend)
		}
	}
	for _, item := range items(n) {
		places = append(places, storePlaces(item)...)
	}
	for _, key := range keys(n) {
		places = append(places, storePlaces(child(n, key))...)
	}
	return places
}
