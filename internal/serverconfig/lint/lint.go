// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"context"
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
)

var order = []Effect{Refused, Ignored, Exposed}

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

// String returns the finding in one line.
func (f Finding) String() string {
	at := f.Path
	if f.Line > 0 {
		at = fmt.Sprintf("line %d, column %d: %s", f.Line, f.Column, f.Path)
	}
	text := at + ": " + f.Detail
	if f.Fix != "" {
		text += ": " + f.Fix
	}
	return limits.Message(text)
}

// Input is a configuration, with what is known about its server.
type Input struct {
	Content []byte
	Line    *catalog.Line
	// Release is the server's release, or "" if only the release line is known.
	Release string
	// Variables are the environment variables that the server's container has. A nil map means that they are unknown.
	Variables document.Variables
}

// Check returns the findings, worst first and then by position, at most limits.Problems of each effect.
func Check(ctx context.Context, in *Input) []Finding {
	base, err := document.ParseBase("", in.Content)
	if err != nil {
		return []Finding{{Effect: Refused, Detail: reasonOf(err), Fix: document.BaseFix}}
	}
	l := &linter{ctx: ctx, root: base.Root(), line: in.Line, given: in.Variables, counts: map[Effect]int{}}
	l.sections()
	l.integrity(in, base)
	for i := range l.findings {
		if n := l.nodeAt(l.findings[i].Path); n != nil && l.findings[i].Line == 0 {
			l.findings[i].Line, l.findings[i].Column = n.Line, n.Column
		}
	}
	slices.SortStableFunc(l.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Effect), slices.Index(order, b.Effect)),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Path, b.Path))
	})
	return l.findings
}

func reasonOf(err error) string {
	if base, ok := err.(*document.BaseError); ok { //nolint:errorlint // ParseBase returns no other
		return base.Reason
	}
	return err.Error()
}

// linter collects the findings of one configuration.
type linter struct {
	ctx      context.Context
	root     *yaml.Node
	line     *catalog.Line
	given    document.Variables
	findings []Finding
	counts   map[Effect]int
}

func (l *linter) add(effect Effect, n *yaml.Node, path, detail, fix string) {
	l.counts[effect]++
	if l.counts[effect] > limits.Problems {
		return
	}
	f := Finding{Effect: effect, Path: path, Detail: detail, Fix: fix}
	if n != nil {
		f.Line, f.Column = n.Line, n.Column
	}
	l.findings = append(l.findings, f)
}

// integrity adds broken references between the parts of the configuration.
func (l *linter) integrity(in *Input, base *document.Base) {
	var problems problem.Collector
	spec := &v1alpha2.LlamaStackDistributionSpec{}
	integrity.Check(l.ctx, &integrity.Input{
		Document: base.Edit(), Line: in.Line, Release: in.Release, Spec: spec, Environment: environment.Of(in.Variables),
	}, &problems)
	for _, p := range problems.List() {
		path := strings.TrimPrefix(p.Path, "config.yaml: ")
		l.add(Refused, l.nodeAt(path), path, p.Detail, strings.TrimSuffix(p.Fix, "; it comes from the base configuration "))
	}
}
