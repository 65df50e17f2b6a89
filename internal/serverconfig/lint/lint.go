// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/integrity"
)

// Effect is the consequence of a finding.
type Effect string

// The effects, worst first.
const (
	// Refused means that the server does not start.
	Refused Effect = "Refused"
	// Ignored means that the server starts and does not do what the file says.
	Ignored Effect = "Ignored"
	// Exposed means that the file holds a secret, which everyone who can read the ConfigMap sees.
	Exposed Effect = "Exposed"
	// Shared means that two parts keep their state in one storage location.
	Shared Effect = "Shared"
)

var order = []Effect{Refused, Ignored, Exposed, Shared}

// Finding is one fault of a configuration.
type Finding struct {
	Effect Effect
	// Path is the path in the configuration: "providers.inference[0].config.url".
	Path string
	// Line and Column are the position in the file, from 1; 0 for the whole file.
	Line, Column int
	// Detail says what is wrong, and Fix what to write instead. Both hold no values of secrets.
	Detail, Fix string
}

// says begins the details of the effects.
var says = map[Effect]string{
	Refused: "the server does not start with this: ", Ignored: "the server ignores this: ",
}

// Message returns the effect and the detail.
func (f *Finding) Message() string { return says[f.Effect] + f.Detail }

// At returns file, line, column and path, as editors read them.
func (f *Finding) At(file string) string {
	if f.Line > 0 {
		file = fmt.Sprintf("%s:%d:%d", file, f.Line, f.Column)
	}
	if f.Path == "" {
		return file
	}
	return file + ": " + f.Path
}

// Input is a configuration, with what is known about its server.
type Input struct {
	Content []byte
	Line    *catalog.Line
	// Release is the server's release, or "" if only the release line is known.
	Release string
	// Variables are the environment variables that the server's container has. A nil map means that they are unknown.
	Variables document.Variables
	// Module returns the installed package with a provider type that the release line does not have, or "". It may be
	// nil.
	Module func(api, providerType string) string
}

// Check returns the findings, worst first and then by position, at most limits.Problems of each effect.
func Check(ctx context.Context, in *Input) []Finding {
	base, err := document.ParseBase("", in.Content)
	if err != nil {
		detail := err.Error()
		if refused, ok := errors.AsType[*document.BaseError](err); ok {
			detail = refused.Reason
		}
		return []Finding{{Effect: Refused, Detail: detail, Fix: document.BaseFix}}
	}
	return CheckDocument(ctx, base.Edit(), in)
}

// CheckDocument is Check for a configuration that is parsed already. A finding has no position at a part that the file
// does not have.
func CheckDocument(ctx context.Context, doc *document.Document, in *Input) []Finding {
	l := &linter{doc: doc, line: in.Line, given: in.Variables, module: in.Module, counts: map[Effect]int{}}
	l.sections()
	l.integrity(ctx, in.Release)
	slices.SortStableFunc(l.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Effect), slices.Index(order, b.Effect)),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Path, b.Path))
	})
	return l.findings
}

// linter collects the findings of one configuration.
type linter struct {
	doc      *document.Document
	line     *catalog.Line
	given    document.Variables
	module   func(api, providerType string) string
	findings []Finding
	counts   map[Effect]int
}

// add adds a finding at a node, or without one at the node of the path or the nearest one above it.
func (l *linter) add(effect Effect, n *yaml.Node, path, detail, fix string) {
	l.counts[effect]++
	if l.counts[effect] > limits.Problems {
		return
	}
	if n == nil {
		n = l.nodeAt(path)
	}
	l.findings = append(l.findings, Finding{
		Effect: effect, Path: path, Line: n.Line, Column: n.Column, Detail: detail, Fix: fix,
	})
}

// integrity adds contradictions between the parts of the configuration.
func (l *linter) integrity(ctx context.Context, release string) {
	var problems problem.Collector
	integrity.Check(ctx, &integrity.Input{
		Document: l.doc, Line: l.line, Release: release, Own: true, Spec: &v1alpha2.LlamaStackDistributionSpec{},
		Environment: environment.Of(l.given),
	}, &problems)
	for _, p := range problems.List() {
		effect := Refused
		if p.Reason == problem.SharedStorageLocation {
			effect = Shared
		}
		l.add(effect, nil, strings.TrimPrefix(p.Path, "config.yaml: "), p.Detail, p.Fix)
	}
}
