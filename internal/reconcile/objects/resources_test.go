// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// quantities parses a list such as "cpu=1 memory=1Gi"; nil if it is empty.
func quantities(list string) corev1.ResourceList {
	var amounts corev1.ResourceList
	for entry := range strings.FieldsSeq(list) {
		if amounts == nil {
			amounts = corev1.ResourceList{}
		}
		name, amount, _ := strings.Cut(entry, "=")
		amounts[corev1.ResourceName(name)] = resource.MustParse(amount)
	}
	return amounts
}

// Proves: R43, R77, FR-012 (the operator requests one CPU and one gibibyte; limits come only from the user).
func TestResourcesHaveOnlyTheUsersLimits(t *testing.T) {
	for name, c := range map[string]struct {
		workers *int32
		// Lists of names and amounts.
		requests, limits, wantRequests, wantLimits string
	}{
		"nothing":                          {nil, "", "", "cpu=1 memory=1Gi", ""},
		"both":                             {nil, "cpu=250m memory=512Mi", "cpu=2 memory=2Gi", "cpu=250m memory=512Mi", "cpu=2 memory=2Gi"},
		"requests alone":                   {nil, "cpu=2 memory=4Gi ephemeral-storage=9Gi", "", "cpu=2 memory=4Gi ephemeral-storage=9Gi", ""},
		"one request":                      {nil, "cpu=250m", "", "cpu=250m memory=1Gi", ""},
		"one limit, as release 0.9 has it": {nil, "", "memory=8Gi", "cpu=1 memory=1Gi", "memory=8Gi"},
		"a limit below the default":        {nil, "", "cpu=500m memory=512Mi", "cpu=500m memory=512Mi", "cpu=500m memory=512Mi"},
		"a CPU for each worker":            {new(int32(3)), "", "", "cpu=3 memory=1Gi", ""},
		"workers with a CPU limit":         {new(int32(3)), "", "cpu=2", "cpu=2 memory=1Gi", "cpu=2"},
		"workers with a CPU request":       {new(int32(3)), "cpu=1", "", "cpu=1 memory=1Gi", ""},
		"a GPU by its request": {
			nil, "nvidia.com/gpu=1 hugepages-2Mi=4Mi", "", "cpu=1 memory=1Gi nvidia.com/gpu=1 hugepages-2Mi=4Mi", "nvidia.com/gpu=1 hugepages-2Mi=4Mi",
		},
		"a GPU by its limit": {nil, "", "nvidia.com/gpu=1", "cpu=1 memory=1Gi", "nvidia.com/gpu=1"},
	} {
		t.Run(name, func(t *testing.T) {
			workload := &v1alpha2.WorkloadSpec{Workers: c.workers, Resources: &corev1.ResourceRequirements{
				Requests: quantities(c.requests), Limits: quantities(c.limits),
			}}
			want := corev1.ResourceRequirements{Requests: quantities(c.wantRequests), Limits: quantities(c.wantLimits)}
			got := server(t, with(t, func(p *objects.Params) { p.CR.Spec.Workload = workload })).Resources
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("resources (-want +got):\n%s", diff)
			}
		})
	}
	none := server(t, with(t, func(p *objects.Params) { p.CR.Spec.Workload = nil })).Resources
	if diff := cmp.Diff(corev1.ResourceRequirements{Requests: quantities("cpu=1 memory=1Gi")}, none); diff != "" {
		t.Errorf("without spec.workload (-want +got):\n%s", diff)
	}
}
