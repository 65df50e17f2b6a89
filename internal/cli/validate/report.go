// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"context"

	"github.com/llamastack/llama-stack-k8s-operator/internal/cli/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/cli/offline"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
)

// report is the result, and its JSON form.
type report struct {
	// Valid is false when there is an error.
	Valid bool `json:"valid"`
	// Checked and Skipped count resources, and documents of other kinds.
	Checked int `json:"checked"`
	Skipped int `json:"skipped"`
	// Findings are errors and warnings, in the order of the files.
	Findings []finding `json:"findings"`
}

// finding is one error or warning.
type finding struct {
	// File and Line are the place; both are absent where the message has it.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Resource is the name of the resource.
	Resource string `json:"resource,omitempty"`
	// Severity is "error" or "warning".
	Severity string `json:"severity"`
	// Field is the path of the field; absent where it is the resource as a whole.
	Field string `json:"field,omitempty"`
	// Message reports what is wrong, with the field, and how to fix it.
	Message string `json:"message"`
}

// judge checks the documents.
func judge(ctx context.Context, cluster *offline.Cluster, documents []*manifest.Document, unreadable []error) *report {
	r := &report{Valid: true, Findings: []finding{}}
	for _, err := range unreadable {
		r.Valid = false
		r.Findings = append(r.Findings, unread(err))
	}
	cluster.Fill(documents)
	for _, d := range documents {
		if !offline.Wants(d) {
			r.Skipped++
			continue
		}
		r.Checked++
		resource := cluster.Try(ctx, d)
		r.Valid = r.Valid && !resource.Failed()
		for _, f := range resource.Findings {
			r.Findings = append(r.Findings, finding{
				File: d.File, Line: resource.Line(f), Resource: resource.Name(), Severity: offline.Word(f.Severity),
				Field: f.Path, Message: f.Message,
			})
		}
	}
	return r
}

// unread is the finding of a file or document that could not be read.
func unread(err error) finding {
	f := finding{Severity: offline.Word(config.Error), Message: err.Error()}
	if e, ok := manifest.AsSyntaxError(err); ok {
		f.File, f.Line, f.Message = e.File, e.Line, e.Reason
	}
	return f
}
