// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
)

// checkNeeds checks that what every provider needs is served: the server would not start.
func (g *generation) checkNeeds() {
	providers := g.doc.Section("providers")
	for _, api := range document.Keys(providers) {
		for i, entry := range document.Items(document.Child(providers, api)) {
			id := document.IdentityOf(document.Child(entry, "provider_id"))
			row, known := g.Line.Provider(api, document.Text(document.Child(entry, "provider_type")))
			if !known || id.Presence == document.Disabled {
				continue
			}
			missing := slices.DeleteFunc(slices.Clone(row.Needs), g.serves)
			if len(missing) == 0 {
				continue
			}
			g.reportNeeds(api, fmt.Sprintf("providers.%s[%d]", api, i), id.ID, row, missing)
		}
	}
}

func (g *generation) reportNeeds(api, path, id string, row *catalog.Provider, missing []string) {
	if p := g.ofResource(api, id); p != nil {
		for _, need := range missing {
			g.findings.fail(BrokenReference, p.Path+".provider",
				fmt.Sprintf("%s needs the API %s, which the base configuration %s does not serve", row.Type, need, g.Base.Name()),
				"choose a distribution that serves it, or another provider")
		}
		return
	}
	g.faulty(path, fmt.Sprintf("a provider of type %s needs what nothing here serves: %s", row.Type, strings.Join(missing, ", ")),
		"give these APIs a provider, or disable "+api+" by spec.disabled")
}

// serves reports whether the configuration serves an API, by a name as Provider.Needs has it. One with a registry is served with any
// number of providers, also none; an API that the release line does not know is the image's own business.
func (g *generation) serves(name string) bool {
	api, ok := g.Line.APIOf(name)
	if !ok {
		return true
	}
	if g.Line.APIs[api].Table == "" {
		return g.doc.HasProvider(api)
	}
	apis := document.Items(g.doc.APIs())
	if len(apis) == 0 {
		return true
	}
	for _, n := range apis {
		if n.Value == api || document.HasReference(n.Value) {
			return true
		}
	}
	return false
}
