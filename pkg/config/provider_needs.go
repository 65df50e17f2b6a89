// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
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
