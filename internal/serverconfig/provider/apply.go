// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

// Apply merges the providers of the spec into those of the base by effective id, and returns their status entries. It
// adds the variables of Secrets to env, and stops when the context ends.
func Apply(
	ctx context.Context, doc *document.Document, line *catalog.Line, groups []parse.ProviderGroup, env *environment.Set,
	problems *problem.Collector,
) []Entry {
	var entries []Entry
	for _, group := range groups {
		if group.API == parse.APITelemetry {
			continue // telemetry becomes environment variables
		}
		if _, ok := line.APIs[group.API.Name]; !ok {
			problems.Add(release.MissingAPI(line, group.API.Name, "spec.providers."+group.API.Field))
			continue
		}
		doc.EnableAPI(group.API.Name)
		fromBase := slices.Clone(doc.EnsureProviders(group.API.Name).Content)
		for i := range group.Providers {
			if ctx.Err() != nil {
				return nil
			}
			p := Resolve(group.API, &group.Providers[i], line, problems)
			entry := p.entry(templateFor(fromBase, p), doc)
			put(doc, line, group.API.Name, p.ID(), entry)
			env.Add(p.variables...)
			(&requiredCheck{schema: p.schema, spec: p.spec, given: env.Given(), problems: problems}).check(document.Child(entry,
				"config"))
			entries = append(entries, p.statusEntry(entry))
		}
	}
	return entries
}

// put adds a provider to the configuration. It replaces the one with the same id, or that of an API that has only one.
func put(doc *document.Document, line *catalog.Line, api, id string, entry *yaml.Node) {
	if line != nil && line.HasOneProvider(api) {
		doc.ReplaceProviders(api, entry)
		return
	}
	doc.PutProvider(api, id, entry)
}
