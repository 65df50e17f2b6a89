// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// ProviderVariables returns, for each environment variable that providers of the base read, those providers as "api/id",
// sorted. Providers whose id only the environment tells are left out.
func (b *Base) ProviderVariables() map[string][]string {
	found := map[string][]string{}
	providers := child(b.root, "providers")
	for _, api := range keys(providers) {
		for _, entry := range items(child(providers, api)) {
			id := identityOf(child(entry, "provider_id")).id
			if id == "" {
				continue
			}
			for _, name := range variablesIn(entry) {
				if !slices.Contains(found[name], api+"/"+id) {
					found[name] = append(found[name], api+"/"+id)
				}
			}
		}
	}
	for _, list := range found {
		slices.Sort(list)
	}
	return found
}

func variablesIn(n *yaml.Node) []string {
	var names []string
	if n.Kind == yaml.ScalarNode {
		for _, m := range envPattern.FindAllStringSubmatch(n.Value, -1) {
			names = append(names, m[1])
		}
	}
	for _, c := range n.Content {
		names = append(names, variablesIn(c)...)
	}
	return names
}
