// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/describe"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/fields"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// width is the maximum width of text, in characters.
const width = 100

func (e *explanation) print(w io.Writer) error {
	var out bytes.Buffer
	for i, t := range e.Items {
		if i > 0 {
			out.WriteByte('\n')
		}
		switch {
		case t.Field != nil:
			printField(&out, t.Field)
		case t.Provider != nil:
			t.Provider.print(&out)
		case t.Condition != nil:
			printCondition(&out, t.Condition)
		case t.Reason != nil:
			printReason(&out, t.Reason)
		case t.Alert != nil:
			t.Alert.print(&out)
		}
	}
	_, err := w.Write(trailing.ReplaceAll(out.Bytes(), nil))
	return err
}

var trailing = regexp.MustCompile(`(?m) +$`)

// printHeader prints names and values in two columns, without empty values.
func printHeader(out io.Writer, pairs ...[2]string) {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for _, pair := range pairs {
		if pair[1] != "" {
			_, _ = fmt.Fprintf(table, "%s:\t%s\n", pair[0], pair[1])
		}
	}
	_ = table.Flush() // writes to memory
}

func paragraph(out io.Writer, title, text string) {
	if text == "" {
		return
	}
	_, _ = fmt.Fprintf(out, "\n%s:\n%s", title, wrap("  ", text))
}

func bullet(text string) string { return wrap("  - ", text) }

// wrap returns wrapped text with a prefix; further lines are indented by its width.
func wrap(prefix, text string) string {
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case column == 0:
			b.WriteString(prefix)
			column = len(prefix)
		case column+1+len(word) > width:
			b.WriteString("\n" + strings.Repeat(" ", len(prefix)))
			column = len(prefix)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	b.WriteByte('\n')
	return b.String()
}

func printField(out io.Writer, f *fields.Field) {
	kind := f.Type
	if f.Required {
		kind += ", required"
	}
	if len(f.Limits) > 0 {
		kind += ", " + strings.Join(f.Limits, ", ")
	}
	printHeader(out, [2]string{"FIELD", f.Path}, [2]string{"VERSION", f.Version}, [2]string{"IN v1alpha2", f.InV1alpha2},
		[2]string{"TYPE", kind}, [2]string{"DEFAULT", asText(f.Default)})
	description := f.Description
	if description == "" {
		description = "A field of a Kubernetes type: see kubectl explain of the object that contains it."
	}
	paragraph(out, "DESCRIPTION", description)
	for i, rule := range f.Rules {
		if i == 0 {
			_, _ = fmt.Fprint(out, "\nRULES:\n")
		}
		_, _ = io.WriteString(out, bullet(rule))
	}
	if len(f.Fields) == 0 {
		return
	}
	_, _ = fmt.Fprint(out, "\nFIELDS:\n")
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for _, child := range f.Fields {
		kind := child.Type
		if child.Required {
			kind += ", required"
		}
		_, _ = fmt.Fprintf(table, "  %s\t%s\t%s\n", child.Path[len(f.Path)+1:], kind, firstSentence(child.Description))
	}
	_ = table.Flush()
}

func asText(value any) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if at := strings.Index(text, ". "); at >= 0 {
		return text[:at+1]
	}
	return text
}

func (p *providerType) print(out io.Writer) {
	configured := "only in base configurations"
	if p.Field != "" {
		configured = "spec.providers." + p.Field
	}
	printHeader(out, [2]string{"PROVIDER", p.Type}, [2]string{"API", p.API + " (" + configured + ")"},
		[2]string{"RELEASE LINES", describe.Lines(p.Lines, catalog.Lines())})
	for i, note := range p.Notes {
		if i == 0 {
			_, _ = fmt.Fprint(out, "\nNOTES:\n")
		}
		_, _ = io.WriteString(out, bullet(note))
	}
	if len(p.Fields) > 0 {
		_, _ = fmt.Fprint(out, "\nFIELDS OF settings:\n")
		table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
		for _, f := range p.Fields {
			notes := f.Notes
			if len(f.Lines) > 0 {
				notes = append(slices.Clip(notes), describe.InLines(f.Lines, catalog.Lines()))
			}
			if f.Default != nil {
				notes = append([]string{"default " + asText(f.Default)}, notes...)
			}
			_, _ = fmt.Fprintf(table, "  %s\t%s\t%s\n", f.Name, f.Type, strings.Join(notes, ", "))
		}
		_ = table.Flush()
	}
	if p.Example != "" {
		_, _ = fmt.Fprint(out, "\nEXAMPLE:\n  spec:\n")
		for line := range strings.Lines(p.Example) {
			_, _ = io.WriteString(out, "    "+line)
		}
	}
}

func printCondition(out io.Writer, c *describe.Condition) {
	printHeader(out, [2]string{"CONDITION", c.Name})
	paragraph(out, "MEANING", strings.ReplaceAll(c.Meaning, "`", "")) // remove Markdown
	paragraph(out, "REASONS", strings.Join(c.Reasons, ", "))
}

func printReason(out io.Writer, r *reason) {
	printHeader(out, [2]string{"REASON", r.Name}, [2]string{"CONDITION", strings.Join(r.Conditions, ", ")},
		[2]string{"STATE", r.State})
	paragraph(out, "MEANING", r.Meaning)
	paragraph(out, "EXAMPLE", r.Example)
	paragraph(out, "WHAT TO DO", r.Remedy)
}
