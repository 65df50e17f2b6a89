// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
)

// checkNeeds checks that what every provider needs is served: the server would not start.
func (g *generation) checkNeeds() {
	providers := child(g.root, "providers")
	for _, api := range keys(providers) {
		for i, entry := range items(child(providers, api)) {
			id := identityOf(child(entry, "provider_id"))
			row, known := g.Line.Provider(api, text(child(entry, "provider_type")))
			if !known || id.presence == never {
				continue
			}
			missing := slices.DeleteFunc(slices.Clone(row.Needs), g.serves)
			if len(missing) == 0 {
				continue
			}
			g.reportNeeds(api, fmt.Sprintf("providers.%s[%d]", api, i), id.id, row, missing)
		}
	}
}

func (g *generation) reportNeeds(api, path, id string, row *catalog.Provider, missing []string) {
	for _, p := range g.providers {
		if p.api.Name != api || p.EffectiveID() != id {
			continue
		}
		for _, need := range missing {
			g.findings.fail(BrokenReference, p.Path+".provider",
				fmt.Sprintf("%s needs the API %s, which the base configuration %s does not serve", row.Type, need, oneLine(g.Base.name)),
				"choose a distribution that serves it, or another provider")
		}
		return
	}
	g.faulty(path, fmt.Sprintf("a provider of type %s needs what nothing here serves: %s", row.Type, strings.Join(missing, ", ")),
		"give these APIs a provider, or disable "+api+" by spec.disabled")
}

// serves tells whether the configuration serves an API, by a name as Provider.Needs has it. One with a registry is served with any
// number of providers, also none; an API that the release line does not know is the image's own business.
func (g *generation) serves(name string) bool {
	api, ok := g.Line.APIOf(name)
	if !ok {
		return true
	}
	if g.Line.APIs[api].Table == "" {
		return g.hasProvider(api)
	}
	apis := items(child(g.root, "apis"))
	if len(apis) == 0 {
		return true
	}
	for _, n := range apis {
		if n.Value == api || envPattern.MatchString(n.Value) {
			return true
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
