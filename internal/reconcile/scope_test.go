// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
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

// Proves: L-33 (alerts of servers fire only for those that should run).
func TestOnlyServersThatShouldRunAreUnhealthy(t *testing.T) {
	for reason, want := range map[string]bool{
		v1alpha2.ReasonServerUnavailable: true, v1alpha2.ReasonScaledToZero: false, v1alpha2.ReasonNotDeployed: false, v1alpha2.ReasonAutoscalingPaused: false,
	} {
		conditions := []metav1.Condition{
			{Type: v1alpha2.ConditionAvailable, Status: metav1.ConditionFalse, Reason: reason},
			{Type: v1alpha2.ConditionStorageReachable, Status: metav1.ConditionUnknown, Reason: v1alpha2.ReasonStorageUnknown},
		}
		if got := failing(conditions); len(got) > 0 != want {
			t.Errorf("%s: %v", reason, got)
		}
	}
	storage := []metav1.Condition{{
		Type: v1alpha2.ConditionStorageReachable, Status: metav1.ConditionFalse, Reason: v1alpha2.ReasonStorageUnreachable,
	}}
	if got := failing(storage); len(got) != 1 || got[0] != v1alpha2.ConditionStorageReachable {
		t.Errorf("%v", got)
	}
}
