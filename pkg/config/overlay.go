// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/environment"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/release"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/parse"
)

// applyProviders lays the providers of the spec over those of the base, by effective id, and returns them as generated. Other
// providers of the base stay, and so does their order; new ones follow in the order of the spec.
func applyProviders(
	ctx context.Context, doc *document.Document, line *catalog.Line, groups []parse.ProviderGroup, env *environment.Set, findings *report,
) []ProviderEntry {
	var entries []ProviderEntry
	for _, group := range groups {
		api := group.API.Name
		if group.API == parse.APITelemetry {
			continue
		}
		if _, ok := line.APIs[api]; !ok {
			findings.Add(release.MissingAPI(line, api, "spec.providers."+group.API.Field))
			continue
		}
		doc.EnableAPI(api)
		fromBase := slices.Clone(doc.EnsureProviders(api).Content)
		for i := range group.Providers {
			if ctx.Err() != nil {
				return nil
			}
			p := resolveProvider(group.API, &group.Providers[i], line, findings)
			entry := p.entry(templateFor(fromBase, p), doc.Base().Root(), doc.Root())
			doc.PutProvider(api, p.EffectiveID(), entry)
			env.Add(p.env...)
			p.checkRequired(entry, env.Given(), findings)
			entries = append(entries, p.status(entry))
		}
	}
	return entries
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
