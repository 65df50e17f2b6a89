// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
)

// checkAPIs checks that the release line has every API that the configuration names, and that something serves those that the server
// cannot do without. An image that brings APIs of its own says where they are.
func (g *generation) checkAPIs() {
	if child(g.root, "external_apis_dir") != nil {
		return
	}
	for i, n := range items(child(g.root, "apis")) {
		api := text(n)
		of, ok := g.Line.APIOf(api)
		switch {
		case envPattern.MatchString(api) || slices.Contains(g.Line.InternalAPIs, api):
		case !ok:
			g.unknownAPI(api, fmt.Sprintf("apis[%d]", i))
		case g.Line.APIs[of].Table == "" && g.Line.APIsMustBeServed && !g.hasProvider(of):
			g.faulty(fmt.Sprintf("apis[%d]", i), fmt.Sprintf("nothing serves the API %s: it has no provider that is on", of), "disable it by spec.disabled")
		}
	}
	for _, api := range keys(child(g.root, "providers")) {
		if _, ok := g.Line.APIs[api]; !ok {
			g.unknownAPI(api, "providers."+api)
		}
	}
}

// unknownAPI reports an API that the release line does not have: at the resource where that configures it, else at the configuration.
func (g *generation) unknownAPI(api, path string) {
	for _, group := range g.groups {
		if group.API.Name == api {
			at := "spec.providers." + group.API.Field
			if !slices.ContainsFunc(g.findings.Findings, func(f Finding) bool { return f.Code == NotAvailable && f.Path == at }) {
				g.refuseAbsent(api, at)
			}
			return
		}
	}
	g.faulty(path, fmt.Sprintf("release line %s has no API %q", g.Line.Name, api), "there are "+strings.Join(g.Line.APINames(), ", "))
}

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
	message := fmt.Sprintf("a provider of type %s needs what nothing here serves: %s", row.Type, strings.Join(missing, ", "))
	configured := g.configuredAt(api, id)
	if len(configured) == 0 {
		g.faulty(path, message, "give these APIs a provider, or disable "+api+" by spec.disabled")
		return
	}
	for _, at := range configured {
		g.findings.fail(BrokenReference, at, message, "remove it, or use a base configuration with providers of these APIs")
	}
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
