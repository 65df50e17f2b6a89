// SPDX-License-Identifier: Apache-2.0

package release09

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// AnnotationSwitchover marks a Deployment whose rollout from pods of release 0.9 is held: the old pods run on until the
// Service leads only to new ones. It goes with the hold.
const AnnotationSwitchover = "llamastack.io/switchover"

// switchoverSeconds is how long a new pod is ready before it counts as available while the rollout is held: if the
// operator cannot end the hold, the rollout goes on by itself. It is less than progressDeadlineSeconds, as Kubernetes
// demands.
const switchoverSeconds = 300

// NeedsSwitchover reports whether a rollout from the live Deployment must be held to lose no request: pods of release
// 0.9 end as soon as they are told to, while requests are still sent to them.
func NeedsSwitchover(live *appsv1.Deployment) bool {
	return live != nil && !objects.HasNewPods(&live.Spec.Template) && ptr.Deref(live.Spec.Replicas, 1) > 0
}

// IsHeld reports whether the rollout of a Deployment is held by HoldRollout.
func IsHeld(d *appsv1.Deployment) bool { return d != nil && d.Annotations[AnnotationSwitchover] != "" }

// HoldRollout makes the rollout of a Deployment start all new pods and keep all old ones.
func HoldRollout(d *appsv1.Deployment) {
	d.Annotations = maps.Clone(d.Annotations)
	if d.Annotations == nil {
		d.Annotations = map[string]string{}
	}
	d.Annotations[AnnotationSwitchover] = "held"
	d.Spec.MinReadySeconds = switchoverSeconds
	d.Spec.Strategy = appsv1.DeploymentStrategy{
		Type: appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxSurge: new(intstr.FromString("100%")), MaxUnavailable: new(intstr.FromInt32(0)),
		},
	}
}
