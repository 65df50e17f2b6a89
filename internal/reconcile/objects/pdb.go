// SPDX-License-Identifier: Apache-2.0

package objects

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

// PodDisruptionBudget returns the budget, or nil; by default, one of several pods may be down.
func PodDisruptionBudget(p *Params) *policyv1.PodDisruptionBudget {
	var requested *v1alpha2.PodDisruptionBudgetSpec
	if w := p.CR.Spec.Workload; w != nil {
		requested = w.PodDisruptionBudget
	}
	_, maxPods := PodRange(&p.CR.Spec)
	if requested == nil && maxPods < 2 {
		return nil
	}
	spec := policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: names.Selector(p.CR.Name)}}
	if requested != nil {
		spec.MinAvailable, spec.MaxUnavailable = requested.MinAvailable, requested.MaxUnavailable
	}
	if spec.MinAvailable == nil && spec.MaxUnavailable == nil {
		spec.MaxUnavailable = new(intstr.FromInt32(1))
	}
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: objectMeta(p.CR, names.BudgetName(p.CR.Name)),
		Spec:       spec,
	}
}
