// SPDX-License-Identifier: Apache-2.0

package objects

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

// spread returns the user's constraints, or by default a preference for regions, zones and nodes. A single pod has it
// too, so that scaling up does not replace it.
func spread(p *Params) []corev1.TopologySpreadConstraint {
	selector := &metav1.LabelSelector{MatchLabels: names.Selector(p.CR.Name)}
	if w := p.CR.Spec.Workload; w != nil && len(w.TopologySpreadConstraints) > 0 {
		list := make([]corev1.TopologySpreadConstraint, len(w.TopologySpreadConstraints))
		for i := range list {
			w.TopologySpreadConstraints[i].DeepCopyInto(&list[i])
			if list[i].LabelSelector == nil {
				list[i].LabelSelector = selector // without a selector it would count no pods
			}
		}
		return list
	}
	var list []corev1.TopologySpreadConstraint
	for _, key := range []string{corev1.LabelTopologyRegion, corev1.LabelTopologyZone, corev1.LabelHostname} {
		list = append(list, corev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: selector,
		})
	}
	return list
}

// affinity returns a preference for nodes without a pod of the same resource.
func affinity(p *Params) *corev1.Affinity {
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
			Weight: 100,
			PodAffinityTerm: corev1.PodAffinityTerm{
				TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: names.Selector(p.CR.Name)},
			},
		}},
	}}
}

// schedule sets the user's fields for scheduling, registries and devices in a pod.
func schedule(p *Params, pod *corev1.PodSpec) {
	w := workloadOf(&p.CR.Spec)
	pod.ImagePullSecrets, pod.ResourceClaims = w.ImagePullSecrets, w.ResourceClaims
	pod.TerminationGracePeriodSeconds = w.TerminationGracePeriodSeconds
	s := w.Scheduling
	if s == nil {
		return
	}
	pod.NodeSelector, pod.Tolerations = s.NodeSelector, s.Tolerations
	pod.PriorityClassName = ptr.Deref(s.PriorityClassName, "")
	if ptr.Deref(s.RuntimeClassName, "") != "" {
		pod.RuntimeClassName = s.RuntimeClassName
	}
	if s.Affinity != nil {
		pod.Affinity = s.Affinity
	}
}
