// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

type report struct {
	// Valid is false if there is an error.
	Valid bool `json:"valid"`
	// Checked counts custom resources, Skipped documents of other kinds that no custom resource refers to.
	Checked int `json:"checked"`
	Skipped int `json:"skipped"`
	// Findings are errors and warnings by file and line.
	Findings []finding `json:"findings"`

	resources  []*offline.Resource
	unreadable int
	// templates are the Helm templates, with the line of the first action.
	templates []position
	// notes say why a document of another kind is not checked, if it is meant for an operator of this server.
	notes []string
}

type position struct {
	file string
	line int
}

type finding struct {
	// File and Line are the position; Line is 0 if the file cannot be read.
	File string `json:"file"`
	Line int    `json:"line"`
	// Resource is the name of the custom resource; empty if it cannot be read.
	Resource string `json:"resource,omitempty"`
	// Severity is "error" or "warning".
	Severity string `json:"severity"`
	// Code is the reason, as in docs/status.md.
	Code problem.Reason `json:"code"`
	// Path is the field; "document" if the file or document cannot be read.
	Path string `json:"path"`
	// Message is the problem with its path and fix.
	Message string `json:"message"`
}

func check(ctx context.Context, cluster *offline.Cluster, documents []*manifest.Document, unreadable []error) *report {
	r := &report{Valid: true, Findings: []finding{}}
	for _, err := range unreadable {
		if e, ok := manifest.AsSyntaxError(err); ok && e.Helm && e.File != manifest.StdinFile {
			r.addTemplate(e.File, e.Line)
			continue
		}
		r.unreadable++
		r.Valid = false
		r.Findings = append(r.Findings, unreadableFinding(err))
	}
	cluster.SetConfigMaps(documents)
	var others []*manifest.Document
	for _, d := range documents {
		if !offline.Recognizes(d) {
			others = append(others, d)
			if why := offline.WhySkipped(d, "validate"); why != "" {
				r.notes = append(r.notes, fmt.Sprintf("%s: note: %s", d.Position(), why))
			}
			continue
		}
		if line := d.HelmLine(); line > 0 && d.File != manifest.StdinFile {
			r.addTemplate(d.File, line)
			continue
		}
		r.Checked++
		resource := cluster.DryRun(ctx, d)
		r.resources = append(r.resources, resource)
		r.Valid = r.Valid && !resource.Failed()
		if resource.Desired != nil && resource.Desired.ReplacesOnlyPod() {
			r.notes = append(r.notes, d.Position()+": note: a change that restarts its pod makes the server unavailable "+
				"until the new pod is ready, because no other pod can use its volume")
		}
		for _, p := range resource.Problems {
			r.Findings = append(r.Findings, finding{
				File: d.File, Line: resource.Line(p), Resource: resource.Name(),
				Severity: offline.SeverityName(p.Severity), Code: p.Reason,
				Path: p.Path, Message: p.String(),
			})
		}
	}
	for _, d := range others {
		if !slices.ContainsFunc(r.resources, func(resource *offline.Resource) bool { return resource.Reads(d) }) {
			r.Skipped++
		}
	}
	return r
}

// addTemplate adds a Helm template, once for each file.
func (r *report) addTemplate(file string, line int) {
	if !slices.ContainsFunc(r.templates, func(p position) bool { return p.file == file }) {
		r.templates = append(r.templates, position{file, line})
	}
}

func unreadableFinding(err error) finding {
	p := problem.New(problem.Problem{Reason: problem.InvalidField, Path: "document", Detail: err.Error(), Err: err})
	f := finding{Severity: offline.SeverityName(p.Severity), Code: p.Reason, Path: p.Path}
	if e, ok := manifest.AsSyntaxError(err); ok {
		f.File, f.Line, p.Detail = e.File, e.Line, e.Reason
	} else if file, ok := errors.AsType[*fs.PathError](err); ok {
		f.File, p.Detail = file.Path, "cannot be read: "+file.Err.Error()
	}
	f.Message = p.String()
	return f
}
