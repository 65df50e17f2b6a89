// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
)

const (
	formatText   = "text"
	formatJSON   = "json"
	formatYAML   = "yaml"
	formatGitHub = "github"
)

func formats() []string { return []string{formatText, formatJSON, formatYAML, formatGitHub} }

func (r *report) print(format string, streams cli.Streams) error {
	for _, p := range r.templates {
		_, _ = fmt.Fprintf(streams.Err, "%s:%d: note: skipped a Helm template: check what it renders: helm template CHART | "+
			"kubectl llamastack validate -f -\n", p.file, p.line)
	}
	for _, note := range r.notes {
		_, _ = fmt.Fprintln(streams.Err, note)
	}
	for _, resource := range r.resources {
		resource.PrintNotes(streams.Err)
	}
	switch format {
	case formatJSON:
		return cli.PrintJSON(streams.Out, r)
	case formatYAML:
		return cli.PrintYAML(streams.Out, r)
	case formatGitHub:
		for _, f := range r.Findings {
			printAnnotation(cli.MachineReadable(streams.Out), f)
		}
	default:
		for _, f := range r.Findings {
			printLine(streams.Out, f)
		}
	}
	rest := ""
	switch len(r.templates) {
	case 0:
	case 1:
		rest = ", 1 Helm template skipped"
	default:
		rest = fmt.Sprintf(", %d Helm templates skipped", len(r.templates))
	}
	if r.unreadable > 0 {
		rest += fmt.Sprintf(", %d unreadable", r.unreadable)
	}
	_, err := fmt.Fprintf(streams.Err, "%d checked, %d with errors or warnings, %d of other kinds skipped%s\n",
		r.Checked, r.resourcesWithFindings(), r.Skipped, rest)
	return err
}

// cleanFile returns the only file if it has no findings; empty for several files.
func (r *report) cleanFile() (file string) {
	if len(r.Findings) > 0 {
		return ""
	}
	for _, resource := range r.resources {
		if file != "" && file != resource.Document.File {
			return ""
		}
		file = resource.Document.File
	}
	return file
}

func (r *report) resourcesWithFindings() int {
	seen := map[string]bool{}
	for _, f := range r.Findings {
		if f.Resource != "" {
			seen[f.File+" "+f.Resource] = true
		}
	}
	return len(seen)
}

// printLine prints a finding as file:line: severity: resource: message.
func printLine(w io.Writer, f finding) {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(f.File + ":")
		if f.Line > 0 {
			fmt.Fprintf(&b, "%d:", f.Line)
		}
		b.WriteByte(' ')
	}
	b.WriteString(f.Severity + ": ")
	if f.Resource != "" {
		b.WriteString(f.Resource + ": ")
	}
	_, _ = fmt.Fprintln(w, b.String()+f.Message)
}

// printAnnotation prints a finding as a GitHub workflow command.
func printAnnotation(w io.Writer, f finding) {
	var properties []string
	for _, p := range []struct {
		name, value string
		set         bool
	}{
		{"file", f.File, f.File != ""},
		{"line", strconv.Itoa(f.Line), f.Line > 0},
		{"title", f.Resource, f.Resource != ""},
	} {
		if p.set {
			properties = append(properties, p.name+"="+escapeProperty(cli.Text(p.value)))
		}
	}
	_, _ = fmt.Fprintf(w, "::%s %s::%s\n", f.Severity, strings.Join(properties, ","), escapeMessage(cli.Text(f.Message)))
}

// escapeMessage and escapeProperty escape text in workflow commands.
func escapeMessage(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func escapeProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escapeMessage(s))
}
