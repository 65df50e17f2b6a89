// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/suggest"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/parse"
)

// checkRow reports what the release line itself says against a provider type.
func (p *provider) checkRow(findings *report) {
	path := p.Path + ".provider"
	switch {
	case p.row.Refused:
		findings.fail(NotAvailable, path, fmt.Sprintf("a server of release line %s refuses to start with %s", p.line.Name, p.providerType),
			"choose another provider: this release line has "+strings.Join(p.shortNames(), ", "))
	case p.row.Deprecated:
		findings.warn(DeprecatedType, path, fmt.Sprintf("release line %s still has %s, and says that it will go", p.line.Name, p.providerType),
			"change to another provider in time: this release line has "+strings.Join(p.shortNames(), ", "))
	}
}

// shortNames are the names of the types of the API that serve without reservation, as a user writes them.
func (p *provider) shortNames() []string {
	var names []string
	for i := range p.line.Rows[p.api.Name] {
		if row := &p.line.Rows[p.api.Name][i]; !row.Refused && !row.Deprecated {
			names = append(names, row.Type[strings.Index(row.Type, "::")+2:])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// reportUnknownType reports a type that the release line does not know: an error where other release lines or other APIs do, or where it
// looks misspelled. Else a warning, for an image can bring types of its own.
func (p *provider) reportUnknownType(findings *report) {
	path, names := p.Path+".provider", p.shortNames()
	message := fmt.Sprintf("%s is not a provider type that release line %s knows for %s", p.providerType, p.line.Name, p.api.Name)
	if found, lines := p.onOtherLines(); len(lines) > 0 {
		findings.fail(NotAvailable, path, fmt.Sprintf("a server of release line %s has no %s for %s: that is in %s",
			p.line.Name, found, p.api.Name, lineRange(lines)),
			"choose a distribution with such a server, or another provider: this release line has "+strings.Join(names, ", "))
		return
	}
	if api, ok := p.inOtherAPI(); ok {
		findings.fail(UnknownProviderType, path, message, "it is one for "+api.Name+": move it to spec.providers."+api.Field)
		return
	}
	short := p.Type[strings.LastIndex(p.Type, ":")+1:]
	hint := suggest.Sentence(short, names)
	if hint != "" && !strings.Contains(p.Type, "::") {
		findings.fail(UnknownProviderType, path, message, hint+"If the image brings this type itself, write it in full: "+p.providerType)
		return
	}
	if hint == "" {
		hint = "known are " + strings.Join(names, ", ") + "; "
	}
	findings.warn(UnknownProviderType, path, message,
		fmt.Sprintf("%sthe server starts only if the image brings this type itself; its endpoint is written as %s and its key as %s",
			hint, fallbackEndpointField, fallbackKeyField))
}

// candidates are the types that the user can mean.
func (p *provider) candidates() []string {
	if strings.Contains(p.Type, "::") {
		return []string{p.Type}
	}
	return []string{"remote::" + p.Type, "inline::" + p.Type}
}

// onOtherLines finds the type on other release lines.
func (p *provider) onOtherLines() (found string, lines []string) {
	for _, candidate := range p.candidates() {
		if lines := catalog.LinesWith(p.api.Name, candidate); len(lines) > 0 {
			return candidate, lines
		}
	}
	return "", nil
}

// inOtherAPI finds the type among those of another API.
func (p *provider) inOtherAPI() (parse.ProviderAPI, bool) {
	for _, api := range []parse.ProviderAPI{
		parse.APIInference, parse.APISafety, parse.APIVectorIO, parse.APIToolRuntime,
	} {
		for _, candidate := range p.candidates() {
			if _, ok := p.line.Provider(api.Name, candidate); ok {
				return api, true
			}
		}
	}
	return parse.ProviderAPI{}, false
}

// lineRange names release lines for a message.
func lineRange(lines []string) string {
	if len(lines) == 1 {
		return "line " + lines[0]
	}
	return "lines " + lines[0] + " to " + lines[len(lines)-1]
}
