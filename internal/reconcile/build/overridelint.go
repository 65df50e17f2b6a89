// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"slices"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/lint"
)

// reasons are the reasons of the findings in the user's own configuration.
var reasons = map[lint.Effect]problem.Reason{
	lint.Refused: problem.InvalidConfigMap,
	lint.Ignored: problem.NoEffect,
	lint.Exposed: problem.LiteralSecret,
	lint.Shared:  problem.SharedStorageLocation,
}

// lintOverride warns of what the server refuses or ignores in the user's own configuration. It skips unknown releases.
// module returns the external package with a provider type, or "".
func (d *Desired) lintOverride(ctx context.Context, in *Inputs, module func(api, providerType string) string) {
	line := d.Distribution.Line
	if line == nil {
		return
	}
	for _, f := range lint.Check(ctx, &lint.Input{
		Content: d.OverrideContent, Line: line, Release: d.Distribution.Release, Variables: in.givenVariables(),
		Module: module,
	}) {
		d.problems.warn(reasons[f.Effect], f.At(in.Override.key()), f.Message(), f.Fix)
	}
}

// givenVariables returns the variables of the server's container, or nil if an envFrom may have others.
func (in *Inputs) givenVariables() document.Variables {
	given := environment.NewSet(&in.CR.Spec).Given()
	names := slices.Concat(environment.RuntimeVariables, in.variables())
	for _, v := range in.externalVariables() {
		names = append(names, v.Name)
	}
	if w := in.CR.Spec.Workload; w != nil && w.Overrides != nil {
		for i := range w.Overrides.EnvFrom {
			known := envFromVariables(in, &w.Overrides.EnvFrom[i], i)
			if len(known) == 0 {
				return nil
			}
			names = append(names, known...)
		}
	}
	for _, name := range names {
		given[name] = true
	}
	return given
}
