// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"fmt"
	"io"

	"github.com/llamastack/llama-stack-k8s-operator/internal/cli/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
)

// ReadSettings reads the operator's settings from a file; an empty name stands for an operator without any.
func ReadSettings(file string, stdin io.Reader) (*settings.Settings, error) {
	var data map[string]string
	if file != "" {
		var err error
		keys := []string{settings.KeyDistributions, settings.KeyImageOverrides}
		if data, err = manifest.ConfigMapData(file, settings.ConfigMapName, keys, stdin); err != nil {
			return nil, fmt.Errorf("--settings: %w", err)
		}
	}
	s, err := settings.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("--settings: %w", err)
	}
	return s, nil
}

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
