// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"cmp"
	"fmt"
	"io"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// Line returns the line of a problem in the file of its resource: where the field is not there, that of the nearest one
// above it.
func (r *Resource) Line(p problem.Problem) int { return r.Document.LineOf(p.Path) }

// Word is how a severity is called in output.
func Word(s problem.Severity) string {
	if s == problem.Warning {
		return "warning"
	}
	return "error"
}

// Print writes the problems of the resource, one in a line: file:line: severity: name: message.
func (r *Resource) Print(w io.Writer) {
	for _, p := range r.Problems {
		_, _ = fmt.Fprintf(w, "%s:%d: %s: %s: %s\n", r.Document.File, r.Line(p), Word(p.Severity), r.Name(), p)
	}
}

// PrintNotes writes the notes, one in a line.
func (r *Resource) PrintNotes(w io.Writer) {
	for _, n := range r.Notes {
		_, _ = fmt.Fprintf(w, "%s:%d: note: %s: %s: %s\n", r.Document.File, r.Document.LineOf(n.Path), r.Name(), n.Path,
			n.Text)
	}
}

// Name is the name of the resource for messages, or what the API server makes one of.
func (r *Resource) Name() string {
	return cmp.Or(r.Document.Name(), r.Document.GenerateName(), "(no name)")
}
