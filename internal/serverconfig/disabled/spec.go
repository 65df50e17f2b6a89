// SPDX-License-Identifier: Apache-2.0

package disabled

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/resource"
)

// sectionOf maps an API to the section of the configuration that depends on it.
var sectionOf = map[string]string{
	"vector_io":    "vector_stores",
	"safety":       "safety",
	"tool_runtime": "connectors",
	"telemetry":    "telemetry",
}

// knownAPI finds an API of any release line by its name in camelCase or snake_case.
func knownAPI(name string) (string, bool) {
	fold := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
	known := catalog.KnownAPIs()
	at := slices.IndexFunc(known, func(api string) bool { return fold(api) == fold(name) })
	if at < 0 {
		return "", false
	}
	return known[at], true
}

// APIs returns the known APIs among the names, without duplicates.
func APIs(names []string) []string {
	var apis []string
	for _, name := range names {
		if api, ok := knownAPI(name); ok && !slices.Contains(apis, api) {
			apis = append(apis, api)
		}
	}
	return apis
}

// Spec is the input of Read.
type Spec struct {
	// Names is spec.disabled.
	Names []string
	// Providers, External, Models, Shields, VectorStores and Tools are the parsed spec.
	Providers    []parse.ProviderGroup
	External     []parse.ExternalProvider
	Models       []parse.Model
	Shields      []parse.Shield
	VectorStores []parse.VectorStore
	Tools        []parse.Tool
	Defaults     parse.Defaults
}

// Read returns the APIs in spec.disabled, and removes their configuration from the spec with a warning. A nil release
// line skips the checks against the release line.
func Read(spec *Spec, line *catalog.Line, problems *problem.Collector) []string {
	for i, name := range spec.Names {
		path := fmt.Sprintf("spec.disabled[%d]", i)
		api, ok := knownAPI(name)
		if !ok {
			if problems.Full(problem.Error) {
				continue
			}
			known := catalog.KnownAPIs()
			fix := "there are " + strings.Join(known, ", ")
			if near, ok := problem.Nearest(name, known); ok {
				fix = fmt.Sprintf("did you mean %q?", near)
			}
			problems.Add(problem.Problem{
				Reason: problem.InvalidField, Path: path, Type: field.ErrorTypeNotSupported, Value: name, Fix: fix,
			})
			continue
		}
		if line == nil {
			continue
		}
		if _, section := line.Sections[sectionOf[api]]; !section || api != "telemetry" {
			warnAbsent(line, api, path, problems)
		}
	}
	apis := APIs(spec.Names)
	ignored := func(api, path string, count int) bool {
		if count == 0 || !slices.Contains(apis, api) {
			return false
		}
		problems.Add(problem.Problem{
			Reason: problem.DisabledAPI, Severity: problem.Warning, Path: path,
			Detail: "is ignored, because spec.disabled names " + api, Fix: "remove one of the two",
		})
		return true
	}
	spec.Providers = slices.DeleteFunc(spec.Providers, func(group parse.ProviderGroup) bool {
		return ignored(group.API.Name, "spec.providers."+group.API.Field, len(group.Providers))
	})
	spec.External = slices.DeleteFunc(slices.Clone(spec.External), func(e parse.ExternalProvider) bool {
		return ignored(e.API.Name, e.Path, 1)
	})
	if ignored("inference", "spec.resources.models", len(spec.Models)) {
		spec.Models = nil
	}
	if ignored("safety", "spec.resources.shields", len(spec.Shields)) {
		spec.Shields = nil
	}
	if ignored("vector_io", "spec.resources.vectorStores", len(spec.VectorStores)) {
		spec.VectorStores = nil
	}
	for _, f := range resource.DefaultFields(&spec.Defaults) {
		if ignored(f.API.Name, f.Path, 1) {
			f.Unset()
		}
	}
	if ignored("tool_runtime", "spec.resources.tools", len(spec.Tools)) {
		spec.Tools = nil
	}
	return apis
}

// warnAbsent warns about a disabled API that the release line does not have.
func warnAbsent(line *catalog.Line, api, path string, problems *problem.Collector) {
	absence, absent := line.Absent(api)
	if !absent {
		return
	}
	fix := "remove it"
	if absence.Instead != "" {
		fix += "; " + absence.Instead
	}
	problems.Add(problem.Problem{
		Reason: problem.UnsupportedByRelease, Severity: problem.Warning, Path: path,
		Detail: fmt.Sprintf("release line %s has no API %s, so there is nothing to disable", line.Name, api), Fix: fix,
	})
}
