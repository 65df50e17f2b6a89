// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
)

// applyProviders lays the providers of the resource over those of the base, by effective id. Other providers of the
// base stay, and so does their order; new ones follow in the order of the resource.
func (g *generation) applyProviders() {
	for _, group := range g.groups {
		api := group.API.Name
		if group.API == v1alpha2.APITelemetry {
			continue
		}
		if _, ok := g.Line.APIs[api]; !ok {
			g.refuseAbsent(api, "spec.providers."+group.API.Field)
			continue
		}
		g.doc.EnableAPI(api)
		list := g.doc.EnsureProviders(api)
		fromBase := slices.Clone(list.Content)
		for i := range group.Providers {
			if g.stopped() {
				return
			}
			p := resolveProvider(group.API, &group.Providers[i], g.Line, &g.findings)
			entry := p.entry(templateFor(fromBase, p), g.Base.Root(), g.doc.Root())
			list.Content = overlay(list.Content, p.EffectiveID(), entry)
			g.env.Add(p.env...)
			p.checkRequired(entry, g.env.Given(), &g.findings)
			g.providers = append(g.providers, p)
			g.entries = append(g.entries, p.status(entry))
		}
	}
}

// templateFor returns what a provider begins with, so that what the server needs and the resource has no name for is there: the
// base's entry with its id, which makes its data the provider's own, else the first one of its type. An entry with its id but of
// another type does not count: its config means nothing to the new type.
func templateFor(base []*yaml.Node, p *provider) template {
	var found template
	for _, entry := range base {
		if document.Text(document.Child(entry, "provider_type")) != p.providerType {
			continue
		}
		if document.IdentityOf(document.Child(entry, "provider_id")).ID == p.EffectiveID() {
			return template{entry: entry, own: true}
		}
		if found.entry == nil {
			found.entry = entry
		}
	}
	return found
}

// overlay puts an entry in the place of those with the same effective id, else at the end. There can be several in a
// base, each with its own condition; the server would take the last one.
func overlay(list []*yaml.Node, id string, entry *yaml.Node) []*yaml.Node {
	placed := false
	var result []*yaml.Node
	for _, other := range list {
		if document.IdentityOf(document.Child(other, "provider_id")).ID != id {
			result = append(result, other)
			continue
		}
		if !placed {
			result = append(result, entry)
			placed = true
		}
	}
	if !placed {
		result = append(result, entry)
	}
	return result
}
