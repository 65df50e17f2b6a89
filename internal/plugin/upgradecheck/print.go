// SPDX-License-Identifier: Apache-2.0

package upgradecheck

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
)

// inProvider matches a path within a provider.
var inProvider = regexp.MustCompile(`^providers\.(\w+)\[([^\]]*)\]\.`)

// providerOf returns the provider of a path as "api/id"; may be empty.
func providerOf(path string) string {
	if m := inProvider.FindStringSubmatch(path); m != nil {
		return m[1] + "/" + m[2]
	}
	return ""
}

func (c *check) print(w io.Writer, style cli.Style) error {
	var b strings.Builder
	from := ""
	if c.From != "" {
		from = c.From + " "
	}
	fmt.Fprintf(&b, "%s %s→ %s: %s\n", style.Bold(c.Name), from, c.To, c.verdict(style))
	for _, section := range []struct {
		title string
		texts []string
	}{
		{"Errors with this release", c.Errors},
		{"Warnings with this release", c.Warnings},
		{"Removed providers", c.Gone},
		{"Added providers", c.New},
		{"Models by their names in API requests", c.models()},
		{"Changed storage locations", c.State},
	} {
		for i, text := range section.texts {
			if i == 0 {
				b.WriteString("\n" + style.Bold(section.title) + "\n")
			}
			b.WriteString("  " + text + "\n")
		}
	}
	if rows := c.fields(); len(rows) > 0 {
		b.WriteString("\n" + style.Bold("Fields of providers") + "\n")
		_ = cli.Table(&b, 2, rows) // writes to memory
	}
	if c.Others > 0 {
		fmt.Fprintf(&b, "\nand %d other differences in config.yaml: compare the output of this command, with and without "+
			"--server-version:\n  %s\n",
			c.Others, c.render)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *check) verdict(style cli.Style) string {
	switch {
	case !c.Possible:
		return style.Bad("the spec requires changes")
	case len(c.State)+len(c.Models)+len(c.Gone) > 0:
		return style.Bad("the spec works, but see the changes for clients and storage")
	}
	return style.Good("the spec works unchanged")
}

func (c *check) models() []string {
	var list []string
	for _, m := range c.Models {
		switch {
		case m.After == "":
			list = append(list, m.Before+" is gone")
		case m.Before == "":
			list = append(list, m.After+" is new")
		default:
			list = append(list, m.Before+" is called "+m.After)
		}
	}
	return list
}

func (c *check) fields() [][]string {
	var rows [][]string
	for _, f := range c.Fields {
		rows = append(rows, []string{f.Path, orAbsent(f.Before) + " → " + orAbsent(f.After)})
	}
	return rows
}

func orAbsent(text string) string {
	if text == "" {
		return "absent"
	}
	return text
}
