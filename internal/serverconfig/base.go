// SPDX-License-Identifier: Apache-2.0

package serverconfig

import (
	"context"
	"fmt"
	"slices"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/lint"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// BaseProblem is what a server refuses or ignores in a base.
type BaseProblem struct {
	// Warning reports that Generate accepts the base.
	Warning bool
	// Text has the file with line and column, the path, and how to fix it.
	Text string
}

// CheckBase returns the problems of a base that no spec changes, errors first. The server is its release, or "" if only
// the release line is known; file is the name of the base's file.
func CheckBase(ctx context.Context, base *Base, line *catalog.Line, server, file string) []BaseProblem {
	var findings []lint.Finding
	_, problems := Generate(ctx, Input{
		Spec: parse.Parse(&v1alpha2.LlamaStackDistributionSpec{}), Base: base, Line: line, Release: server,
		inspect: func(doc *document.Document) {
			findings = lint.CheckDocument(ctx, doc, &lint.Input{Line: line, Release: server})
		},
	})
	refused, found := map[string]bool{}, map[string]bool{}
	for _, p := range problems.Errors() {
		refused[p.Path] = true
	}
	var errs, warnings []BaseProblem
	add := func(warning bool, text string) {
		if warning {
			warnings = append(warnings, BaseProblem{true, text})
		} else {
			errs = append(errs, BaseProblem{false, text})
		}
	}
	for i := range findings {
		f := &findings[i]
		path := "config.yaml: " + f.Path
		found[path] = true
		add(f.Effect != lint.Refused || !refused[path], fmt.Sprintf("%s: %s: %s", f.At(file), f.Message(), f.Fix))
	}
	for i := range problems {
		if p := &problems[i]; !found[p.Path] {
			add(p.Severity == problem.Warning, p.String())
		}
	}
	return slices.Concat(errs, warnings)
}
