// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

type typeCheck struct {
	schema
	path, written string
	problems      *problem.Collector
}

// checkType reports an unknown, refused or deprecated type.
func checkType(s schema, spec *parse.Provider, problems *problem.Collector) {
	c := typeCheck{schema: s, path: spec.Path + ".provider", written: spec.Type, problems: problems}
	switch {
	case s.row == nil:
		c.reportUnknown()
	case s.row.Refused:
		problems.Add(problem.Problem{
			Reason: problem.UnsupportedByRelease, Path: c.path, Type: field.ErrorTypeNotSupported, Value: spec.Type,
			Detail: fmt.Sprintf("a server of release line %s refuses to start with %s", s.line.Name, s.name),
			Fix: "choose another provider: this release line has " + strings.Join(s.alternatives(),
				", ") + release.OtherLines(func(line *catalog.Line) bool {
				row, ok := line.Provider(s.api, s.name)
				return ok && !row.Refused
			}),
		})
	case s.row.Deprecated:
		problems.Add(problem.Problem{
			Reason: problem.DeprecatedProviderType, Severity: problem.Warning, Path: c.path,
			Detail: fmt.Sprintf("release line %s still has %s, but deprecates it", s.line.Name, s.name),
			Fix:    "change to another provider: this release line has " + strings.Join(s.alternatives(), ", "),
		})
	}
}

// reportUnknown reports an unknown type: an error if another release line or API has it or it looks misspelled,
// otherwise a warning, because the image may have it.
func (c typeCheck) reportUnknown() {
	names := c.alternatives()
	unknown := problem.Problem{
		Reason: problem.UnknownProviderType, Path: c.path, Type: field.ErrorTypeNotSupported, Value: c.written,
		Detail: fmt.Sprintf("release line %s has no provider type %s for %s", c.line.Name, c.name, c.api),
	}
	if found, later := c.inLaterPatch(); later != "" {
		unknown.Reason = problem.UnsupportedByRelease
		unknown.Detail = fmt.Sprintf("a server of %s has no %s for %s", found.without, found.name, c.api)
		unknown.Fix = later + ", or choose another provider: this release has " + strings.Join(names, ", ")
		c.problems.Add(unknown)
		return
	}
	if found, otherLines := c.onOtherLines(); otherLines != "" {
		unknown.Reason = problem.UnsupportedByRelease
		unknown.Detail = fmt.Sprintf("a server of release line %s has no %s for %s", c.line.Name, found, c.api)
		unknown.Fix = "choose another provider: this release line has " + strings.Join(names, ", ") + otherLines
		c.problems.Add(unknown)
		return
	}
	if api, ok := c.inOtherAPI(); ok {
		unknown.Fix = "it is one for " + api.Name + ": move it to spec.providers." + api.Field
		c.problems.Add(unknown)
		return
	}
	hint := problem.DidYouMean(c.written[strings.LastIndex(c.written, ":")+1:], names)
	if hint != "" && !strings.Contains(c.written, "::") {
		unknown.Fix = hint + "If the image provides this type, write it in full: " + c.name
		c.problems.Add(unknown)
		return
	}
	if hint == "" && len(names) > 0 {
		hint = "known are " + strings.Join(names, ", ") + "; "
	}
	unknown.Severity, unknown.Type, unknown.Value = problem.Warning, "", nil
	unknown.Fix = fmt.Sprintf("%sthe server starts only if the image provides this type; its endpoint is set as %s and "+
		"its key as %s",
		hint, fallbackEndpointField, fallbackKeyField)
	c.problems.Add(unknown)
}

// candidates returns the full types that a written type may mean.
func candidates(written string) []string {
	if strings.Contains(written, "::") {
		return []string{written}
	}
	return []string{"remote::" + written, "inline::" + written}
}

// inLaterPatch returns the type and the fix if a later patch release of the release line has it.
func (c typeCheck) inLaterPatch() (found struct{ name, without string }, later string) {
	for _, candidate := range candidates(c.written) {
		has := catalog.HasProvider(c.api, candidate)
		if later = release.LaterPatch(c.line, has); later != "" {
			found.name, found.without = candidate, c.line.Without(has)
			return found, later
		}
	}
	return found, ""
}

// onOtherLines returns the type and the fix if other release lines have it.
func (c typeCheck) onOtherLines() (found, otherLines string) {
	for _, candidate := range candidates(c.written) {
		if otherLines := release.OtherLines(catalog.HasProvider(c.api, candidate)); otherLines != "" {
			return candidate, otherLines
		}
	}
	return "", ""
}

// inOtherAPI returns the API that has the type.
func (c typeCheck) inOtherAPI() (parse.ProviderAPI, bool) {
	for _, api := range parse.ConfigurableAPIs() {
		for _, candidate := range candidates(c.written) {
			if _, ok := c.line.Provider(api.Name, candidate); ok {
				return api, true
			}
		}
	}
	return parse.ProviderAPI{}, false
}
