// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/describe"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

const pageIntroduction = `<!-- %s -->

# Providers

This page lists every provider type of every release line, and the fields of its config, which you can set in
` + "`settings`" + `. A release line that is not listed for an API or a type does not have it.

- ` + "`endpoint`" + ` sets the field with the note **endpoint**, and ` + "`apiKey`" + ` the field with the note **key**.
  **region** and **deploymentName** work in the same way.
- You can set a **secret** field with ` + "`secretRefs`" + `. Its value then stays in a Secret.
- A **store** field refers to a storage backend.
- The operator sets the fields **set if omitted**, which the server requires, so that no two providers share a
  storage location.
- A field with release lines exists only in these. "In 1.3 from 1.3.1 on" means that release 1.3.0 does not have it.

`

func providersPage(lines []*catalog.Line) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, pageIntroduction, generatedMark)
	names := make([]string, len(lines))
	apis := map[string]bool{}
	for i, line := range lines {
		names[i] = line.Name
		for api := range line.APIs {
			apis[api] = true
		}
	}
	p := page{b: &b, lines: lines, names: names}
	for _, api := range slices.SortedFunc(maps.Keys(apis), byOrder(configurable)) {
		p.api(api)
	}
	p.authentication()
	return b.Bytes()
}

type page struct {
	b     *bytes.Buffer
	lines []*catalog.Line
	names []string
}

type variant struct {
	line string
	row  *catalog.Provider
}

func (p *page) api(api string) {
	variants := map[string][]variant{}
	var lines []string
	for _, line := range p.lines {
		if _, ok := line.APIs[api]; !ok {
			continue
		}
		lines = append(lines, line.Name)
		for _, providerType := range line.ProviderTypes(api) {
			row, _ := line.Provider(api, providerType)
			variants[providerType] = append(variants[providerType], variant{line.Name, row})
		}
	}
	fmt.Fprintf(p.b, "## API %s\n\nRelease lines: %s.", api, p.span(lines))
	fmt.Fprintf(p.b, " In the custom resource: `spec.providers.%s`.", parse.APIOf(api).Field)
	if p.lines[len(p.lines)-1].APIs[api].Table == "" && slices.Contains(lines, p.names[len(p.names)-1]) {
		p.b.WriteString(" The API has one provider, which replaces that of the distribution.")
	}
	p.b.WriteString("\n\n")
	for _, providerType := range slices.Sorted(maps.Keys(variants)) {
		p.provider(api, providerType, variants[providerType])
	}
}

func (p *page) provider(api, providerType string, variants []variant) {
	newest := variants[len(variants)-1].row
	var lines []string
	for _, v := range variants {
		lines = append(lines, v.line)
	}
	fmt.Fprintf(p.b, "### %s `%s`\n\nRelease lines: %s.", api, providerType, p.span(lines))
	for _, note := range describe.TypeFrom(p.lines, api, providerType) {
		fmt.Fprintf(p.b, " I%s.", note[1:])
	}
	if newest.Deprecated {
		p.b.WriteString(" Deprecated: the server logs a warning.")
	}
	switch newest.ToolGroup {
	case "":
	case catalog.MCPToolGroups:
		fmt.Fprintf(p.b, " Serves the tool groups `%s<id>`.", newest.ToolGroup)
	default:
		fmt.Fprintf(p.b, " Serves the tool group `%s`.", newest.ToolGroup)
	}
	if len(newest.Needs) > 0 {
		fmt.Fprintf(p.b, " Requires these APIs: %s.", strings.Join(newest.Needs, ", "))
	}
	p.b.WriteString("\n\n")
	for _, name := range slices.Sorted(maps.Keys(newest.Instead)) {
		fmt.Fprintf(p.b, "- No `%s`: %s.\n", name, newest.Instead[name])
	}
	if len(newest.Instead) > 0 {
		p.b.WriteString("\n")
	}
	p.fields(variants, func(name string) []string { return describe.FieldFrom(p.lines, api, providerType, name) })
	if !newest.Refused {
		p.example(parse.APIOf(api).Field, providerType, newest)
	}
}

// fields writes the fields of variants; from returns the notes about patch releases.
func (p *page) fields(variants []variant, from func(name string) []string) {
	described := map[string][]variant{}
	for _, v := range variants {
		for _, name := range v.row.FieldNames() {
			described[name] = append(described[name], v)
		}
	}
	if len(described) == 0 {
		p.b.WriteString("It has no fields.\n\n")
		return
	}
	p.b.WriteString("| field | type | default | |\n|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(described)) {
		occurrences := described[name]
		newest := occurrences[len(occurrences)-1].row
		field := newest.Fields[name]
		fallback := ""
		if field.Default != nil {
			fallback = "`" + fmt.Sprint(field.Default) + "`"
		}
		notes := fieldNotes(newest, name)
		if len(occurrences) < len(variants) {
			var lines []string
			for _, v := range occurrences {
				lines = append(lines, v.line)
			}
			notes = append(notes, describe.InLines(lines, p.names))
		}
		notes = append(notes, from(name)...)
		fmt.Fprintf(p.b, "| `%s` | %s | %s | %s |\n", name, describe.Kind(field), fallback, strings.Join(notes, ", "))
	}
	p.b.WriteString("\n")
}

// fieldNotes returns the notes about a field, with the fields of the custom resource in bold.
func fieldNotes(row *catalog.Provider, name string) []string {
	var notes []string
	for _, n := range describe.Notes(row, name) {
		if n.Target != "" {
			n.Target = "**" + n.Target + "**"
		}
		for i := range n.Names {
			n.Names[i] = "`" + n.Names[i] + "`"
		}
		notes = append(notes, n.String())
	}
	return notes
}

func (p *page) example(api, providerType string, row *catalog.Provider) {
	text, err := describe.Example(api, providerType, row)
	if err != nil {
		panic(fmt.Sprintf("catalog: %v", err))
	}
	fmt.Fprintf(p.b, "```yaml\n%s```\n\n", text)
}

// span formats release lines, with adjacent ones as "0.3 to 0.7".
func (p *page) span(lines []string) string { return describe.Lines(lines, p.names) }
