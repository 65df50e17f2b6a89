// SPDX-License-Identifier: Apache-2.0

package external

import (
	"fmt"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// Beside returns the external providers with known packages, to install beside the user's own configuration, which it
// does not change. A nil Line or Document is unknown.
func Beside(in *Input, problems *problem.Collector) []Installed {
	var installed []Installed
	for i := range in.Providers {
		e := &in.Providers[i]
		if !in.check(e, problems) {
			continue
		}
		known := packageOf(e, in.Packages)
		if known != nil {
			installed = append(installed, newInstalled(e, known))
			in.warnUnnamed(e, known, problems)
		}
		for _, field := range []struct {
			name string
			set  bool
		}{{"endpoint", e.Endpoint != ""}, {e.SettingsField, len(e.Settings) > 0}} {
			if field.set {
				problems.Add(problem.Problem{
					Reason: problem.NoEffect, Severity: problem.Warning, Path: e.Path + "." + field.name,
					Detail: "has no effect with spec.overrideConfig, whose configuration decides",
					Fix:    "write it there under config of the provider, and remove the field",
				})
			}
		}
	}
	return installed
}

// warnUnnamed warns of a package that the server does not load, because the configuration names neither it nor its
// provider type.
func (in *Input) warnUnnamed(e *parse.ExternalProvider, known *parse.ProviderPackage, problems *problem.Collector) {
	if in.Document == nil {
		return
	}
	for entry := range in.Document.Providers() {
		module, _, _ := strings.Cut(document.Text(document.Child(entry.Node, "module")), "==")
		if entry.API == e.API.Name && (module == known.PackageName || entry.Type() == known.ProviderType) {
			return
		}
	}
	problems.Add(problem.Problem{
		Reason: problem.NoEffect, Severity: problem.Warning, Path: e.Path,
		Detail: "the server ignores this: the configuration in spec.overrideConfig does not name the package " +
			known.PackageName,
		Fix: fmt.Sprintf("add to its providers.%s: - {provider_id: %s, provider_type: %s, module: %s}", e.API.Name, e.ID,
			known.ProviderType, known.PackageName),
	})
}

// Module returns the package with a provider type, or "".
func (in *Input) Module(api, providerType string) string {
	for i := range in.Providers {
		known := packageOf(&in.Providers[i], in.Packages)
		if known != nil && in.Providers[i].API.Name == api && known.ProviderType == providerType {
			return known.PackageName
		}
	}
	return ""
}
