// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"io"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/inventory"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
)

func (s *screen) print(w io.Writer, style cli.Style) error {
	p := &printer{style: style}
	p.verdict(s)
	if s.Log != nil {
		var lines [][]string
		for _, line := range s.Log.Lines {
			lines = append(lines, []string{line})
		}
		title := "End of the log of pod "
		if s.Log.Databases {
			title = "Errors of databases in the log of pod "
		}
		p.section(title+s.Log.Pod+", container "+s.Log.Container, lines)
	}
	var facts [][]string
	for _, fact := range [][2]string{
		{"Phase", s.Phase}, {"Pods", s.Pods}, {"URL", s.URL}, {"From outside", s.ExternalURL},
		{"Share", s.Share}, {"Release", release(s)},
		{"Image", s.Image},
		{"Config", s.Config}, {"Operator", s.Operator},
	} {
		if fact[1] != "" {
			facts = append(facts, []string{fact[0], fact[1]})
		}
	}
	p.section("", facts)
	if s.NewerLine != "" {
		fmt.Fprintf(&p.text, "\nA newer release line is available: %s (this server uses %s): kubectl llamastack "+
			"upgrade-check %s -n %s --to %s\n",
			s.NewerLine, s.ReleaseLine, s.Name, s.Namespace, s.NewerLine)
	}
	p.section("Providers", p.providers(s.Providers))
	var models [][]string
	for _, m := range s.Models {
		models = append(models, []string{m.Name, m.Type})
	}
	p.section("Models by their names in API requests", models)
	var listed [][]string
	for _, r := range s.Registered {
		listed = append(listed, []string{r.Kind, r.Name, r.Provider})
	}
	p.section("Also registered in the server", listed)
	var missing [][]string
	for _, name := range s.Missing {
		missing = append(missing, []string{p.style.Bad(name)})
	}
	p.section("In the spec, but not registered", missing)
	if len(s.NotInSpec) > 0 {
		p.section("Models that the server has, but not the spec", [][]string{
			{limits.Names(s.NotInSpec)},
			{"Removed from the spec, registered by a client, or offered by the model server itself."},
			{"To remove one: docs/configuration-resources.md, Remove a model."},
		})
	}
	var try [][]string
	for _, line := range s.Try {
		try = append(try, []string{line})
	}
	p.section("Try it", try)
	var owned [][]string
	for _, o := range s.Objects {
		owned = append(owned, []string{o.Kind + "/" + o.Name, o.State, p.style.Bad(o.Why)})
	}
	p.section("Objects and pods", owned)
	var events [][]string
	for _, e := range s.Events {
		times := ""
		if e.Count > 1 {
			times = fmt.Sprintf(" (%d times)", e.Count)
		}
		events = append(events, []string{e.Last.Format("2006-01-02 15:04:05Z"), e.Object,
			e.Reason + ": " + e.Message + times})
	}
	p.section("Last warnings", events)
	var unread [][]string
	for _, text := range s.Unread {
		unread = append(unread, []string{text})
	}
	p.section("Not read", unread)
	_, err := io.WriteString(w, p.text.String())
	return err
}

type printer struct {
	style cli.Style
	text  strings.Builder
}

// verdict prints the verdict, the causes and the remedies.
func (p *printer) verdict(s *screen) {
	colored := p.style.Bad
	if s.Good {
		colored = p.style.Good
	}
	fmt.Fprintf(&p.text, "%s: %s\n", p.style.Bold(s.Namespace+"/"+s.Name), colored(s.Verdict))
	for _, c := range s.Causes {
		fmt.Fprintf(&p.text, "\n  %s %s\n  %s\n", c.Condition, p.style.Bold(c.Reason), c.Message)
		if c.Remedy != "" {
			fmt.Fprintf(&p.text, "  What to do: %s\n", c.Remedy)
		}
	}
}

func (p *printer) section(title string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	p.text.WriteByte('\n')
	indent := 0
	if title != "" {
		p.text.WriteString(p.style.Bold(title) + "\n")
		indent = 2
	}
	_ = cli.Table(&p.text, indent, rows) // writes to memory
}

// providers returns a row for each provider that the spec or a variable configures, and one for all others.
func (p *printer) providers(list []inventory.Provider) [][]string {
	var rows [][]string
	others := map[string]int{}
	for _, provider := range list {
		state := p.style.Good(provider.State)
		switch {
		case provider.State == inventory.Pending:
			state = p.style.Bad("not applied yet")
		case provider.From == "base" && (provider.State != inventory.On || provider.Variable == ""):
			others[provider.State]++
			continue
		case provider.Variable != "":
			state += ": " + provider.Variable + " is set"
		}
		rows = append(rows, []string{provider.API, provider.ID, provider.Type, provider.From, state})
	}
	var counts []string
	for _, state := range []string{inventory.On, inventory.Off, inventory.Unknown} {
		if others[state] > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", others[state], state))
		}
	}
	if len(counts) > 0 {
		rows = append(rows, []string{p.style.Dim("and those of the base: " + strings.Join(counts, ", ") +
			"; -o yaml lists them")})
	}
	return rows
}

func release(s *screen) string {
	switch {
	case s.ReleaseLine == "" && s.Server == "":
		return ""
	case s.Server == "":
		return s.ReleaseLine
	case s.ReleaseLine == "":
		return "the server reports " + s.Server
	}
	return s.ReleaseLine + " (the server reports " + s.Server + ")"
}
