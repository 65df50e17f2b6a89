// SPDX-License-Identifier: Apache-2.0

package playground

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/difference"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/fields"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// maxText is the size limit of the text, in bytes, near that of the API server.
const maxText = 1 << 20

// Request is a request about a text.
type Request struct {
	// Text is YAML or JSON, one or more documents.
	Text string `json:"text"`
	// Release is a release line; empty means that of the distribution.
	Release string `json:"release"`
	// Compare is the release line to compare with; empty skips the comparison.
	Compare string `json:"compare"`
}

// Response is the result of the dry run. On errors only Problems is set.
type Response struct {
	// Problems are errors, warnings and notes by line.
	Problems []Problem `json:"problems"`
	// Release is the release line of the configuration; empty if unknown.
	Release string `json:"release"`
	// Config is config.yaml; Objects are all objects as YAML.
	Config  string `json:"config"`
	Objects string `json:"objects"`
	// Difference compares Release with Compare of the Question.
	Difference *Difference `json:"difference,omitempty"`
}

// Problem is an error, warning or note.
type Problem struct {
	// Line is the line of the field, from 1.
	Line int `json:"line"`
	// Severity is "error", "warning" or "note".
	Severity string `json:"severity"`
	// Code is the reason, as in docs/status.md; empty for notes.
	Code problem.Reason `json:"code,omitempty"`
	Path string         `json:"path,omitempty"`
	// Message is the problem with its path and fix.
	Message string `json:"message"`
}

// Difference is the comparison with another release.
type Difference struct {
	// Problems are those of the other release; errors prevent the comparison.
	Problems []Problem `json:"problems"`
	// Reports are the differences of each custom resource.
	Reports []*difference.Report `json:"reports"`
}

// Engine answers questions. It is not safe for concurrent use.
type Engine struct {
	cluster *offline.Cluster
	fields  func() *fields.Schema
}

// New returns an Engine with default settings.
func New() (*Engine, error) {
	known, err := settings.Parse(nil)
	if err != nil {
		return nil, err
	}
	return &Engine{cluster: offline.NewCluster(known), fields: sync.OnceValue(func() *fields.Schema {
		schema, err := fields.Read()
		if err != nil { // covered by tests
			panic(err)
		}
		return schema
	})}, nil
}

// Run runs a dry run of the text, and the comparison if requested.
func (e *Engine) Run(ctx context.Context, q Request) (*Response, error) {
	if len(q.Text) > maxText {
		return nil, &limits.ExcessError{Unit: limits.Bytes, Limit: maxText}
	}
	made := e.dryRun(ctx, q.Text, q.Release)
	a := &Response{Problems: made.problems}
	if made.failed {
		return a, nil
	}
	var configs []string
	for _, r := range made.resources {
		if d := r.Desired.Distribution; d != nil && d.Line != nil {
			a.Release = d.Line.Name
		}
		if text := r.Configuration(); text != nil {
			configs = append(configs, strings.TrimSuffix(string(text), "\n")+"\n")
		}
	}
	a.Config = strings.Join(configs, "---\n")
	objects, err := offline.YAML(made.resources)
	if err != nil {
		return nil, err
	}
	a.Objects = string(objects)
	if q.Compare == "" {
		return a, nil
	}
	a.Difference, err = e.difference(ctx, made, q)
	return a, err
}

func (e *Engine) difference(ctx context.Context, before *result, q Request) (*Difference, error) {
	after := e.dryRun(ctx, q.Text, q.Compare)
	d := &Difference{Problems: after.problems, Reports: []*difference.Report{}}
	if after.failed {
		return d, nil
	}
	for i, r := range before.resources {
		report, err := difference.Between(r.Desired, after.resources[i].Desired)
		if err != nil {
			return nil, err
		}
		d.Reports = append(d.Reports, report)
	}
	return d, nil
}

type result struct {
	resources []*offline.Resource
	problems  []Problem
	failed    bool
}

var errNothing = errors.New("the text contains no LlamaStackDistribution")

func (e *Engine) dryRun(ctx context.Context, text, release string) *result {
	m := &result{problems: []Problem{}}
	documents, unreadable := manifest.Read([]string{manifest.Stdin}, false, strings.NewReader(text))
	for _, err := range unreadable {
		m.fail(err)
	}
	cluster := *e.cluster // Fill modifies it
	cluster.Replacement = offline.Replacement{Version: release}
	cluster.SetConfigMaps(documents)
	for _, d := range documents {
		if !offline.Recognizes(d) {
			continue
		}
		r := cluster.DryRun(ctx, d)
		m.resources = append(m.resources, r)
		m.failed = m.failed || r.Failed()
		for _, p := range r.Problems {
			m.problems = append(m.problems, Problem{r.Line(p), offline.SeverityName(p.Severity), p.Reason, p.Path, p.String()})
		}
		for _, n := range r.Notes {
			m.problems = append(m.problems, Problem{Line: d.LineOf(n.Path), Severity: "note", Path: n.Path,
				Message: n.Path + ": " + n.Text})
		}
		if !r.Failed() && r.Configuration() == nil {
			m.problems = append(m.problems, Problem{Line: d.Line, Severity: "note", Message: offline.ImageConfigNote})
		}
	}
	if len(m.resources) == 0 && !m.failed {
		m.fail(errNothing)
	}
	return m
}

func (m *result) fail(err error) {
	p := Problem{Line: 1, Severity: offline.SeverityName(problem.Error), Code: problem.InvalidField, Message: err.Error()}
	if e, ok := manifest.AsSyntaxError(err); ok {
		p.Line, p.Message = e.Line, e.Reason
	}
	m.problems, m.failed = append(m.problems, p), true
}
