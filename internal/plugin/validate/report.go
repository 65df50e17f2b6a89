// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"context"
	"errors"
	"io/fs"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// report is the result, and its JSON form.
type report struct {
	// Valid is false when there is an error.
	Valid bool `json:"valid"`
	// Checked and Skipped count resources, and documents of other kinds.
	Checked int `json:"checked"`
	Skipped int `json:"skipped"`
	// Findings are errors and warnings, in the order of the files and lines.
	Findings []finding `json:"findings"`

	resources []*offline.Resource
	// unreadable counts the files and documents that could not be read.
	unreadable int
}

// finding is one problem and the place of it.
type finding struct {
	// File and Line are the place; the line is 0 where the file cannot be read.
	File string `json:"file"`
	Line int    `json:"line"`
	// Resource is the name of the resource; absent where the file cannot be read.
	Resource string `json:"resource,omitempty"`
	// Severity is "error" or "warning".
	Severity string `json:"severity"`
	// Code is the reason, as conditions name it: docs/status.md lists all.
	Code problem.Reason `json:"code"`
	// Path is the path of the field; "document" where the file or document cannot be read.
	Path string `json:"path"`
	// Message says what is wrong, with the path, and how to fix it.
	Message string `json:"message"`
}

// check checks the documents.
func check(ctx context.Context, cluster *offline.Cluster, documents []*manifest.Document, unreadable []error) *report {
	r := &report{Valid: true, Findings: []finding{}, unreadable: len(unreadable)}
	for _, err := range unreadable {
		r.Valid = false
		r.Findings = append(r.Findings, unread(err))
	}
	cluster.Fill(documents)
	for _, d := range documents {
		if !offline.Recognizes(d) {
			r.Skipped++
			continue
		}
		r.Checked++
		resource := cluster.DryRun(ctx, d)
		r.resources = append(r.resources, resource)
		r.Valid = r.Valid && !resource.Failed()
		for _, p := range resource.Problems {
			r.Findings = append(r.Findings, finding{
				File: d.File, Line: resource.Line(p), Resource: resource.Name(), Severity: offline.Word(p.Severity), Code: p.Reason,
				Path: p.Path, Message: p.String(),
			})
		}
	}
	return r
}

// unread is the finding of a file or document that could not be read.
func unread(err error) finding {
	p := problem.New(problem.Problem{Reason: problem.InvalidField, Path: "document", Detail: err.Error(), Err: err})
	f := finding{Severity: offline.Word(p.Severity), Code: p.Reason, Path: p.Path}
	if e, ok := manifest.AsSyntaxError(err); ok {
		f.File, f.Line, p.Detail = e.File, e.Line, e.Reason
	} else if file, ok := errors.AsType[*fs.PathError](err); ok {
		f.File, p.Detail = file.Path, "cannot be read: "+file.Err.Error()
	}
	f.Message = p.String()
	return f
}
