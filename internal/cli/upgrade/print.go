// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/cli/command"
)

// inProvider is the path of a part of a provider.
var inProvider = regexp.MustCompile(`^providers\.(\w+)\[([^\]]*)\]\.`)

// providerOf is the provider of a path, as "api/id"; empty where there is none.
func providerOf(path string) string {
	if m := inProvider.FindStringSubmatch(path); m != nil {
		return m[1] + "/" + m[2]
	}
	return ""
}

// print prints for eyes.
func (c *check) print(w io.Writer, style command.Style) error {
	var b strings.Builder
	verdict := style.Good("the spec works unchanged")
	switch {
	case !c.Possible:
		verdict = style.Bad("the spec needs an edit")
	case len(c.State)+len(c.Models)+len(c.Gone) > 0:
		verdict = style.Bad("the spec works, but read what changes for clients and state")
	}
	from := ""
	if c.From != "" {
		from = c.From + " "
	}
	fmt.Fprintf(&b, "%s %s→ %s: %s\n", style.Bold(c.Name), from, c.To, verdict)
	list := func(title string, texts []string) {
		if len(texts) == 0 {
			return
		}
		b.WriteString("\n" + style.Bold(title) + "\n")
		for _, text := range texts {
			b.WriteString("  " + text + "\n")
		}
	}
	list("Errors with this release", c.Errors)
	list("Warnings with this release", c.Warnings)
	list("Providers that are gone", c.Gone)
	list("Providers that are new", c.New)
	var models []string
	for _, m := range c.Models {
		switch {
		case m.After == "":
			models = append(models, m.Before+" is gone")
		case m.Before == "":
			models = append(models, m.After+" is new")
		default:
			models = append(models, m.Before+" is called "+m.After)
		}
	}
	list("Models, as clients write them", models)
	list("State that moves", c.State)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	if len(c.Fields) > 0 {
		if _, err := fmt.Fprintf(w, "\n%s\n", style.Bold("Fields of providers")); err != nil {
			return err
		}
		var rows [][]string
		for _, f := range c.Fields {
			before, after := f.Before, f.After
			if before == "" {
				before = "absent"
			}
			if after == "" {
				after = "absent"
			}
			rows = append(rows, []string{f.Path, before + " → " + after})
		}
		if err := command.Table(w, 2, rows); err != nil {
			return err
		}
	}
	if c.Others > 0 {
		_, err := fmt.Fprintf(w, "\nand %d other differences in config.yaml: compare them with kubectl llamastack render --server-version %s\n", c.Others, c.To)
		return err
	}
	return nil
}
