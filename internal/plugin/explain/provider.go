// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/describe"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

type providerType struct {
	Type string `json:"type"`
	// API is the server's name of the API; Field is its field in spec.providers, which may be empty.
	API   string `json:"api"`
	Field string `json:"field,omitempty"`
	// Lines are the release lines with the type, oldest first.
	Lines  []string        `json:"releaseLines"`
	Notes  []string        `json:"notes,omitempty"`
	Fields []providerField `json:"fields,omitempty"`
	// Example is a valid entry of spec.providers; may be empty.
	Example string `json:"example,omitempty"`
}

type providerField struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Default any      `json:"default,omitempty"`
	Notes   []string `json:"notes,omitempty"`
	// Lines are the release lines with the field, if not all have it.
	Lines []string `json:"releaseLines,omitempty"`
}

// visitProviders calls visit for each provider type of each release line, oldest first.
func visitProviders(visit func(line, api string, row *catalog.Provider)) {
	for _, name := range catalog.Lines() {
		line, _ := catalog.Get(name)
		for _, api := range slices.Sorted(maps.Keys(line.Rows)) {
			for i := range line.Rows[api] {
				visit(name, api, &line.Rows[api][i])
			}
		}
	}
}

// findProviders returns the provider types with a full or short name, or with that of their tool group. Several APIs
// may have the same type.
func findProviders(name string) ([]*providerType, error) {
	type key struct{ api, providerType string }
	variants := map[key][]*catalog.Provider{}
	lines := map[key][]string{}
	visitProviders(func(line, api string, row *catalog.Provider) {
		_, short, _ := strings.Cut(row.Type, "::")
		matches := func(known string) bool { return known != "" && strings.EqualFold(name, known) }
		if toolGroup := strings.TrimSuffix(row.ToolGroup, "::"); !matches(row.Type) && !matches(short) &&
			!matches(toolGroup) {
			return
		}
		k := key{api, row.Type}
		variants[k], lines[k] = append(variants[k], row), append(lines[k], line)
	})
	var found []*providerType
	for _, k := range slices.SortedFunc(maps.Keys(variants), func(a, b key) int {
		return strings.Compare(a.api+a.providerType, b.api+b.providerType)
	}) {
		p, err := describeProvider(k.api, variants[k], lines[k])
		if err != nil {
			return nil, err
		}
		found = append(found, p)
	}
	return found, nil
}

func describeProvider(api string, variants []*catalog.Provider, lines []string) (*providerType, error) {
	newest := variants[len(variants)-1]
	p := &providerType{Type: newest.Type, API: api, Field: parse.APIOf(api).Field, Lines: lines,
		Notes: providerNotes(newest)}
	var known []*catalog.Line
	for _, name := range lines {
		line, _ := catalog.Get(name)
		known = append(known, line)
	}
	p.Notes = append(p.Notes, describe.TypeFrom(known, api, newest.Type)...)
	fieldLines := map[string][]string{}
	latest := map[string]*catalog.Provider{}
	for i, row := range variants {
		for _, name := range row.FieldNames() {
			fieldLines[name], latest[name] = append(fieldLines[name], lines[i]), row
		}
	}
	for _, name := range slices.Sorted(maps.Keys(latest)) {
		field := latest[name].Fields[name]
		f := providerField{Name: name, Type: describe.Kind(field), Default: field.Default}
		for _, note := range describe.Notes(latest[name], name) {
			f.Notes = append(f.Notes, note.String())
		}
		f.Notes = append(f.Notes, describe.FieldFrom(known, api, newest.Type, name)...)
		if len(fieldLines[name]) < len(lines) {
			f.Lines = fieldLines[name]
		}
		p.Fields = append(p.Fields, f)
	}
	if p.Field == "" || newest.Refused {
		return p, nil
	}
	var err error
	p.Example, err = describe.Example(p.Field, newest.Type, newest)
	return p, err
}

func providerNotes(row *catalog.Provider) []string {
	var notes []string
	if row.Deprecated {
		notes = append(notes, "deprecated: the server logs a warning")
	}
	if row.Refused {
		notes = append(notes, "the server does not start with this provider")
	}
	switch row.ToolGroup {
	case "":
	case catalog.MCPToolGroups:
		notes = append(notes, "serves the tool groups "+row.ToolGroup+"<id>")
	default:
		notes = append(notes, "serves the tool group "+row.ToolGroup)
	}
	if len(row.Needs) > 0 {
		notes = append(notes, "requires these APIs: "+strings.Join(row.Needs, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(row.Instead)) {
		notes = append(notes, fmt.Sprintf("no %s: %s", name, row.Instead[name]))
	}
	return notes
}

func providerNames() []string {
	var list []string
	visitProviders(func(_, _ string, row *catalog.Provider) { list = append(list, row.Type) })
	slices.Sort(list)
	return slices.Compact(list)
}
