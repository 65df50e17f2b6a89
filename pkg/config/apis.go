// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// checkAPIs checks that the release line has every API that the configuration names, and that something serves those that the server
// cannot do without. An image that brings APIs of its own says where they are.
func (g *generation) checkAPIs() {
	if g.doc.Section("external_apis_dir") != nil {
		return
	}
	for i, n := range document.Items(g.doc.APIs()) {
		api := document.Text(n)
		of, ok := g.Line.APIOf(api)
		switch {
		case document.HasReference(api) || slices.Contains(g.Line.InternalAPIs, api):
		case !ok:
			g.unknownAPI(api, fmt.Sprintf("apis[%d]", i))
		case g.Line.APIs[of].Table == "" && g.Line.APIsMustBeServed && !g.doc.HasProvider(of):
			g.faulty(fmt.Sprintf("apis[%d]", i), fmt.Sprintf("nothing serves the API %s: it has no provider that is on", of), "disable it by spec.disabled")
		}
	}
	for _, api := range document.Keys(g.doc.Section("providers")) {
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
			if !slices.ContainsFunc(g.findings.List(), func(p problem.Problem) bool { return p.Reason == problem.UnsupportedByRelease && p.Path == at }) {
				g.refuseAbsent(api, at)
			}
			return
		}
	}
	g.faulty(path, fmt.Sprintf("release line %s has no API %q", g.Line.Name, api), "there are "+strings.Join(g.Line.APINames(), ", "))
}
