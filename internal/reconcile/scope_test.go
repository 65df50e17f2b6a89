// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
)

// Proves: R74 (any other error ends the validation).
func TestUnknownDistributionAllowsFurtherChecks(t *testing.T) {
	unknown := problem.Problem{Reason: problem.UnknownDistribution, Path: "spec.distribution.name"}
	failed := problem.Problem{Reason: problem.LookupFailed, Path: "spec.providers.inference.apiKey"}
	for name, c := range map[string]struct {
		unresolved bool
		problems   problem.List
		want       bool
	}{
		"nothing is wrong":                {want: true},
		"a warning":                       {problems: problem.List{{Severity: problem.Warning, Path: "spec"}}, want: true},
		"an unknown distribution":         {unresolved: true, problems: problem.List{unknown}, want: true},
		"that and a Secret":               {unresolved: true, problems: problem.List{unknown, failed}},
		"a Secret":                        {problems: problem.List{failed}},
		"a spec that cannot be read":      {unresolved: true, problems: problem.List{{Reason: problem.InvalidField, Path: "spec"}}},
		"settings that are not known":     {problems: problem.List{{Reason: problem.LookupFailed, Path: "operator settings"}}},
		"a distribution whose base fails": {problems: problem.List{{Reason: problem.InvalidBaseConfig, Path: "spec.distribution"}}},
	} {
		s := &scope{problems: c.problems, gathered: &gather.Gathered{Inputs: &build.Inputs{Unresolved: c.unresolved}}}
		if got := s.canBuild(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
