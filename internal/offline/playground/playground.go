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

// maxText is how many bytes of text are read: the API server stores fewer of one object.
const maxText = 1 << 20

// Question is what the page asks about a text.
type Question struct {
	// Text is YAML or JSON: one or more documents.
	Text string `json:"text"`
	// Release is a release line of the server; empty stands for the release of the distribution.
	Release string `json:"release"`
	// Compare is the release line to compare with; empty compares with nothing.
	Compare string `json:"compare"`
}

// Answer is what the operator makes of the text. Where there is an error among the problems, it has nothing else.
type Answer struct {
	// Problems are errors, warnings and notes, in the order of the lines.
	Problems []Problem `json:"problems"`
	// Release is the release line that the configuration is for; empty where none is known.
	Release string `json:"release"`
	// Config is the config.yaml, the same bytes as of the verb render. Objects are all objects, as YAML.
	Config  string `json:"config"`
	Objects string `json:"objects"`
	// Difference is what changes from the release of the question to the one to compare with.
	Difference *Difference `json:"difference,omitempty"`
}

// Problem is one thing to tell the author.
type Problem struct {
	// Line is the line of the field in the text, from 1.
	Line int `json:"line"`
	// Severity is "error", "warning" or "note".
	Severity string `json:"severity"`
	// Code is the reason, as docs/status.md lists them; empty for notes.
	Code problem.Reason `json:"code,omitempty"`
	Path string         `json:"path,omitempty"`
	// Message says what is wrong, with the path, and how to fix it.
	Message string `json:"message"`
}

// Difference is what another release makes different.
type Difference struct {
	// Problems are those of the other release. With an error among them, nothing can be compared.
	Problems []Problem `json:"problems"`
	// Reports are the differences, one for each resource.
	Reports []*difference.Report `json:"reports"`
}

// Engine answers questions, one at a time.
type Engine struct {
	cluster *offline.Cluster
	fields  func() *fields.Schema
}

// New returns an engine.
func New() (*Engine, error) {
	known, err := settings.Parse(nil)
	if err != nil {
		return nil, err
	}
	return &Engine{cluster: offline.NewCluster(known), fields: sync.OnceValue(func() *fields.Schema {
		schema, err := fields.Read()
		if err != nil { // it is part of the program and covered by its tests
			panic(err)
		}
		return schema
	})}, nil
}

// Ask answers the question.
func (e *Engine) Ask(ctx context.Context, q Question) (*Answer, error) {
	if len(q.Text) > maxText {
		return nil, &limits.ExcessError{Unit: limits.Bytes, Limit: maxText}
	}
	made := e.made(ctx, q.Text, q.Release)
	a := &Answer{Problems: made.problems}
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

// difference compares what is made with what the other release of the question makes.
func (e *Engine) difference(ctx context.Context, before *made, q Question) (*Difference, error) {
	after := e.made(ctx, q.Text, q.Compare)
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

// made is what the operator makes of a text.
type made struct {
	resources []*offline.Resource
	problems  []Problem
	failed    bool
}

var errNothing = errors.New("there is no LlamaStackDistribution in the text")

func (e *Engine) made(ctx context.Context, text, release string) *made {
	m := &made{problems: []Problem{}}
	documents, unreadable := manifest.Read([]string{manifest.Stdin}, false, strings.NewReader(text))
	for _, err := range unreadable {
		m.fail(err)
	}
	cluster := *e.cluster // Fill changes it
	cluster.Replacement = offline.Replacement{Version: release}
	cluster.Fill(documents)
	for _, d := range documents {
		if !offline.Recognizes(d) {
			continue
		}
		r := cluster.DryRun(ctx, d)
		m.resources = append(m.resources, r)
		m.failed = m.failed || r.Failed()
		for _, p := range r.Problems {
			m.problems = append(m.problems, Problem{r.Line(p), offline.Word(p.Severity), p.Reason, p.Path, p.String()})
		}
		for _, n := range r.Notes {
			m.problems = append(m.problems, Problem{Line: d.LineOf(n.Path), Severity: "note", Path: n.Path,
				Message: n.Path + ": " + n.Text})
		}
		if !r.Failed() && r.Configuration() == nil {
			m.problems = append(m.problems, Problem{Line: d.Line, Severity: "note", Message: offline.OwnConfiguration})
		}
	}
	if len(m.resources) == 0 && !m.failed {
		m.fail(errNothing)
	}
	return m
}

// fail adds an error about the text.
func (m *made) fail(err error) {
	p := Problem{Line: 1, Severity: offline.Word(problem.Error), Code: problem.InvalidField, Message: err.Error()}
	if e, ok := manifest.AsSyntaxError(err); ok {
		p.Line, p.Message = e.Line, e.Reason
	}
	m.problems, m.failed = append(m.problems, p), true
}
