// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"fmt"
	"io"

	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
)

// Line returns the line of a finding in the file of its resource.
func (r *Resource) Line(f Finding) int { return r.Document.LineOf(f.Path) }

// Word is how a severity is called in output.
func Word(s config.Severity) string {
	if s == config.Warning {
		return "warning"
	}
	return "error"
}

// Print writes the findings of the resource, one in a line: file:line: severity: name: message.
func (r *Resource) Print(w io.Writer) {
	for _, f := range r.Findings {
		_, _ = fmt.Fprintf(w, "%s:%d: %s: %s: %s\n", r.Document.File, r.Line(f), Word(f.Severity), r.Name(), f.Message)
	}
}

// Name is the name of the resource for messages.
func (r *Resource) Name() string {
	if name := r.Document.Name(); name != "" {
		return name
	}
	return "(no name)"
}
