// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// Line returns the line of a problem's field, or of its nearest existing parent. A position in the configuration of
// spec.overrideConfig is one in its ConfigMap, if the same file has it.
func (r *Resource) Line(p problem.Problem) int {
	if m := inOverride.FindStringSubmatch(p.Path); m != nil && r.override != nil && r.override.File == r.Document.File {
		if line, err := strconv.Atoi(m[2]); err == nil {
			return r.override.LineInText("data["+m[1]+"]", line)
		}
	}
	return r.Document.LineOf(p.Path)
}

// inOverride matches the path of a problem with a position: "config.yaml:9:12: providers".
var inOverride = regexp.MustCompile(`^([^:]+):(\d+):\d+(: |$)`)

// SeverityName returns "warning" or "error".
func SeverityName(s problem.Severity) string {
	if s == problem.Warning {
		return "warning"
	}
	return "error"
}

// Print writes each problem on a line: file:line: severity: name: message.
func (r *Resource) Print(w io.Writer) {
	for _, p := range r.Problems {
		_, _ = fmt.Fprintf(w, "%s:%d: %s: %s: %s\n", r.Document.File, r.Line(p), SeverityName(p.Severity), r.Name(), p)
	}
}

// PrintNotes writes each note on a line.
func (r *Resource) PrintNotes(w io.Writer) {
	for _, n := range r.Notes {
		_, _ = fmt.Fprintf(w, "%s:%d: note: %s: %s: %s\n", r.Document.File, r.Document.LineOf(n.Path), r.Name(), n.Path,
			n.Text)
	}
}

// Name returns the name of the custom resource for messages.
func (r *Resource) Name() string {
	return cmp.Or(r.Document.Name(), r.Document.GenerateName(), "(no name)")
}
