// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
)

func quantities(pairs ...string) corev1.ResourceList {
	var list corev1.ResourceList
	for i := 0; i < len(pairs); i += 2 {
		if list == nil {
			list = corev1.ResourceList{}
		}
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

// Proves: R43 (a CPU and a gibibyte are requested, limits default to the requests), FR-012.
func TestResources(t *testing.T) {
	defaults := corev1.ResourceRequirements{Requests: quantities("cpu", "1", "memory", "1Gi"), Limits: quantities("cpu", "1", "memory", "1Gi")}
	for name, c := range map[string]struct {
		workload *v1alpha2.WorkloadSpec
		want     corev1.ResourceRequirements
	}{
		"no workload":  {nil, defaults},
		"no resources": {&v1alpha2.WorkloadSpec{}, defaults},
		"empty":        {&v1alpha2.WorkloadSpec{Resources: &corev1.ResourceRequirements{}}, defaults},
		"both": {
			&v1alpha2.WorkloadSpec{Resources: &corev1.ResourceRequirements{
				Requests: quantities("cpu", "250m", "memory", "512Mi"), Limits: quantities("cpu", "2", "memory", "2Gi"),
			}},
			corev1.ResourceRequirements{Requests: quantities("cpu", "250m", "memory", "512Mi"), Limits: quantities("cpu", "2", "memory", "2Gi")},
		},
		"requests alone": {
			&v1alpha2.WorkloadSpec{Resources: &corev1.ResourceRequirements{Requests: quantities("cpu", "2", "memory", "4Gi", "nvidia.com/gpu", "1")}},
			corev1.ResourceRequirements{
				Requests: quantities("cpu", "2", "memory", "4Gi", "nvidia.com/gpu", "1"),
				Limits:   quantities("cpu", "2", "memory", "4Gi", "nvidia.com/gpu", "1"),
			},
		},
		"a CPU for each worker": {
			&v1alpha2.WorkloadSpec{Workers: ptr.To[int32](3)},
			corev1.ResourceRequirements{Requests: quantities("cpu", "3", "memory", "1Gi"), Limits: quantities("cpu", "3", "memory", "1Gi")},
		},
		"workers with CPU of their own": {
			&v1alpha2.WorkloadSpec{Workers: ptr.To[int32](3), Resources: &corev1.ResourceRequirements{Limits: quantities("cpu", "2")}},
			corev1.ResourceRequirements{Requests: quantities("memory", "1Gi"), Limits: quantities("cpu", "2", "memory", "1Gi")},
		},
		"each resource on its own": {
			&v1alpha2.WorkloadSpec{Resources: &corev1.ResourceRequirements{Requests: quantities("cpu", "250m")}},
			corev1.ResourceRequirements{Requests: quantities("cpu", "250m", "memory", "1Gi"), Limits: quantities("cpu", "250m", "memory", "1Gi")},
		},
		"a limit alone is the request too, as Kubernetes has it": {
			&v1alpha2.WorkloadSpec{Resources: &corev1.ResourceRequirements{Limits: quantities("memory", "4Gi")}},
			corev1.ResourceRequirements{Requests: quantities("cpu", "1"), Limits: quantities("cpu", "1", "memory", "4Gi")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := server(t, with(t, func(p *objects.Params) { p.CR.Spec.Workload = c.workload })).Resources
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("resources (-want +got):\n%s", diff)
			}
		})
	}
}
