// SPDX-License-Identifier: Apache-2.0

package objects

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// resources returns the user's resources, by default one CPU for each worker and 1Gi, bounded by limits. It adds limits
// only for resources that cannot be overcommitted, such as GPUs.
func resources(workload *v1alpha2.WorkloadSpec) corev1.ResourceRequirements {
	r := corev1.ResourceRequirements{}
	if workload != nil && workload.Resources != nil {
		r = *workload.Resources.DeepCopy()
	}
	defaults := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(workers(workload), resource.DecimalSI),
		corev1.ResourceMemory: resource.MustParse("1Gi"),
	}
	for name, amount := range defaults {
		if _, requested := r.Requests[name]; requested {
			continue
		}
		if limit, limited := r.Limits[name]; limited && limit.Cmp(amount) < 0 {
			amount = limit
		}
		r.Requests = withQuantity(r.Requests, name, amount)
	}
	for name, amount := range r.Requests {
		if _, limited := r.Limits[name]; !limited && !overcommitted(name) {
			r.Limits = withQuantity(r.Limits, name, amount)
		}
	}
	return r
}

// overcommitted reports whether pods may use more of a resource than they request.
func overcommitted(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage
}

// CPUForWorkers returns the CPU request for several workers, or 0 if the user sets it.
func CPUForWorkers(spec *v1alpha2.LlamaStackDistributionSpec) int64 {
	n := workers(spec.Workload)
	if n < 2 {
		return 0
	}
	if r := spec.Workload.Resources; r != nil {
		if _, requested := r.Requests[corev1.ResourceCPU]; requested {
			return 0
		}
		if limit, limited := r.Limits[corev1.ResourceCPU]; limited && limit.CmpInt64(n) < 0 {
			return 0
		}
	}
	return n
}

func workers(workload *v1alpha2.WorkloadSpec) int64 {
	if workload == nil {
		return 1
	}
	return int64(ptr.Deref(workload.Workers, 1))
}

func withQuantity(list corev1.ResourceList, name corev1.ResourceName, amount resource.Quantity) corev1.ResourceList {
	if list == nil {
		list = corev1.ResourceList{}
	}
	list[name] = amount
	return list
}
