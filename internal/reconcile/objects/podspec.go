// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

func initContainers(p *Params) []corev1.Container {
	return append(trustContainers(p), externalContainers(p)...)
}

func workloadOf(spec *v1alpha2.LlamaStackDistributionSpec) v1alpha2.WorkloadSpec {
	return ptr.Deref(spec.Workload, v1alpha2.WorkloadSpec{})
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

// withPodMetadata adds the user's labels or annotations to the operator's, which win.
func withPodMetadata(user, own map[string]string) map[string]string {
	if len(user) == 0 {
		return own
	}
	all := maps.Clone(user)
	maps.Copy(all, own)
	return all
}
