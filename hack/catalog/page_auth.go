// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

func (p *page) authentication() {
	variants := map[string][]variant{}
	newest := map[string]*catalog.AuthType{}
	for _, line := range p.lines {
		for i := range line.Auth {
			row := &line.Auth[i]
			fields := maps.Clone(row.Fields)
			for _, name := range row.Secrets {
				if field, exists := fields[name]; exists {
					field.Secret = true
					fields[name] = field
				}
			}
			variants[row.Type] = append(
				variants[row.Type],
				variant{line.Name, &catalog.Provider{Type: row.Type, Fields: fields}},
			)
			newest[row.Type] = row
		}
	}
	p.b.WriteString("## Authentication\n\nThe values of `spec.auth.provider`, with their fields in `spec.auth.settings`. See " +
		"[Authentication and authorization](auth.md).\n\n")
	for _, name := range slices.Sorted(maps.Keys(variants)) {
		var lines []string
		for _, v := range variants[name] {
			lines = append(lines, v.line)
		}
		fmt.Fprintf(p.b, "### auth `%s`\n\nRelease lines: %s.", name, p.span(lines))
		row := newest[name]
		if row.Short != "" {
			fmt.Fprintf(p.b, " Also called `%s`.", row.Short)
		}
		if len(row.OneOf) > 0 {
			fmt.Fprintf(p.b, " Exactly one of: `%s`.", strings.Join(row.OneOf, "`, `"))
		}
		if len(row.Secrets) > 0 {
			fmt.Fprintf(p.b, " Secrets: `%s`.", strings.Join(row.Secrets, "`, `"))
		}
		if row.Tenant != "" {
			fmt.Fprintf(p.b, " Tenants come from `%s`.", row.Tenant)
		}
		p.b.WriteString("\n\n")
		p.fields(variants[name], func(string) []string { return nil })
	}
}
