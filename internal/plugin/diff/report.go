// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"io"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/difference"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
)

const valueBytes = 120

// printReport prints a report as text. It omits config.yaml for new custom resources.
func printReport(w io.Writer, style cli.Style, r *difference.Report) {
	if !r.New {
		section(w, style, "config.yaml", rowsOf(style, r.Config))
	}
	var rows [][]string
	for _, o := range r.Objects {
		mark := style.Bold("~")
		switch o.Action {
		case difference.Create:
			mark = style.Good("+")
		case difference.Delete:
			mark = style.Bad("-")
		}
		title := mark + " " + o.Kind + "/" + o.Name
		if o.Action == difference.Keep {
			title += " is kept, but no longer used"
		}
		rows = append(rows, []string{title})
		for _, row := range rowsOf(style, o.Changes) {
			row[0] = "    " + row[0]
			rows = append(rows, row)
		}
	}
	section(w, style, "Objects", rows)
	if r.New {
		return
	}
	restart := yesOrNo(strings.Join(r.Restart, ", "))
	if r.Unavailable {
		restart += "; the server is unavailable until its new pod is ready, because no other pod can use its volume"
	}
	_, _ = fmt.Fprintf(w, "\n%s %s\n", style.Bold("Pods restart:"), restart)
	_, _ = fmt.Fprintf(w, "%s %s\n", style.Bold("Storage location changes:"), yesOrNo(strings.Join(r.State, "; ")))
}

func yesOrNo(why string) string {
	if why == "" {
		return "no"
	}
	return "yes: " + why
}

func section(w io.Writer, style cli.Style, title string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	_, _ = fmt.Fprintf(w, "\n%s\n", style.Bold(title))
	_ = cli.Table(w, 2, rows) // the next write reports errors
}

// rowsOf returns a row for each change: the marked path and the values.
func rowsOf(style cli.Style, changes []difference.Change) [][]string {
	var rows [][]string
	for _, c := range changes {
		switch {
		case c.Before == "":
			rows = append(rows, []string{style.Good("+ " + c.Path), shorten(c.After)})
		case c.After == "":
			rows = append(rows, []string{style.Bad("- " + c.Path), shorten(c.Before)})
		default:
			rows = append(rows, []string{style.Bold("~ " + c.Path), shorten(c.Before) + " → " + shorten(c.After)})
		}
	}
	return rows
}

func shorten(text string) string {
	return limits.Cut(strings.Join(strings.Fields(text), " "), valueBytes)
}
