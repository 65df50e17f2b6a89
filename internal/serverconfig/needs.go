// SPDX-License-Identifier: Apache-2.0

package serverconfig

import (
	"slices"

	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/disabled"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/resource"
)

// Need is an API, provider type or kind of resource in a spec that only some release lines support.
type Need struct {
	// Path is the field that needs it.
	Path string
	// Has reports whether a release line supports it.
	Has func(line *catalog.Line) bool
}

// Needs returns the requirements of a spec on the release line, in spec order, without those of disabled APIs.
func Needs(spec *parse.Spec) []Need {
	n := &needs{disabled: disabled.APIs(spec.Source.Disabled)}
	for _, group := range spec.Providers {
		n.providers(group)
	}
	for i := range spec.External {
		n.api(spec.External[i].API.Name, spec.External[i].Path)
	}
	n.resources(spec)
	if auth := spec.Auth; auth != nil && auth.Type != "" {
		n.add("spec.auth.provider", func(line *catalog.Line) bool { _, ok := line.AuthType(auth.Type); return ok })
	}
	if m := spec.Source.Monitoring; m != nil && ptr.Deref(m.Enabled, false) {
		n.add("spec.monitoring.enabled", func(line *catalog.Line) bool { return line.MetricsEnv != "" })
	}
	return n.list
}

type needs struct {
	disabled []string
	list     []Need
}

func (n *needs) add(path string, has func(line *catalog.Line) bool) {
	n.list = append(n.list, Need{Path: path, Has: has})
}

// api adds an API; it returns false if the spec disables it.
func (n *needs) api(name, path string) bool {
	if slices.Contains(n.disabled, name) {
		return false
	}
	n.add(path, func(line *catalog.Line) bool { _, ok := line.APIs[name]; return ok })
	return true
}

func (n *needs) providers(group parse.ProviderGroup) {
	api := group.API.Name
	if group.API == parse.APITelemetry || !n.api(api, "spec.providers."+group.API.Field) {
		return
	}
	for i := range group.Providers {
		p := &group.Providers[i]
		n.add(p.Path+".provider", func(line *catalog.Line) bool {
			row, ok := line.Provider(api, line.FullType(api, p.Type))
			return ok && !row.Refused
		})
	}
}

func (n *needs) resources(spec *parse.Spec) {
	if len(spec.Models) > 0 && n.api(parse.APIInference.Name, "spec.resources.models") {
		for i := range spec.Models {
			m := &spec.Models[i]
			n.add(m.Path+".modelType", func(line *catalog.Line) bool { return resource.HasModelType(line, m.ModelType) })
		}
	}
	if len(spec.Shields) > 0 {
		n.api(parse.APISafety.Name, "spec.resources.shields")
	}
	if len(spec.VectorStores) > 0 && n.api(parse.APIVectorIO.Name, "spec.resources.vectorStores") {
		n.add("spec.resources.vectorStores", func(line *catalog.Line) bool { return line.RegistersVectorStores })
	}
	d := spec.Defaults
	for _, f := range resource.DefaultFields(&d) {
		if n.api(f.API.Name, f.Path) {
			n.add(f.Path, f.In)
		}
	}
	if len(spec.Tools) > 0 && n.api(parse.APIToolRuntime.Name, "spec.resources.tools") {
		for i := range spec.Tools {
			t := &spec.Tools[i]
			n.add(t.Path, func(line *catalog.Line) bool { return resource.HasTool(line, t) })
		}
	}
}
