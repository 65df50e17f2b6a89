// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// AnnotationSwitchover marks a Deployment whose rollout from pods of release 0.9 is held: the old pods run on until the Service leads only to new
// ones. It goes with the hold.
const AnnotationSwitchover = "llamastack.io/switchover"

// switchoverSeconds is how long a new pod is ready before it counts as available while the rollout is held. The operator ends the hold long
// before. If it cannot, because the cluster has no room for all new pods beside the old ones, or because it does not run, the rollout goes on
// by itself. It is less than progressDeadlineSeconds, as Kubernetes demands.
const switchoverSeconds = 300

// NewPodsSelector selects the pods that this operator's template made. Pods of release 0.9 do not have its label.
func NewPodsSelector(resource string) map[string]string {
	selector := Selector(resource)
	selector[LabelManagedBy] = ManagedBy
	return selector
}

// SelectsNewPods reports whether a Service selects only pods of this operator's template.
func SelectsNewPods(service *corev1.Service, resource string) bool {
	return maps.Equal(service.Spec.Selector, NewPodsSelector(resource))
}

// HasNewPods reports whether pods of a template are selected by NewPodsSelector.
func HasNewPods(template *corev1.PodTemplateSpec) bool {
	return template.Labels[LabelManagedBy] == ManagedBy
}

// NeedsSwitchover reports whether a rollout from the live Deployment must be held to lose no request: pods of release 0.9 end as soon as they are
// told to, while requests are still sent to them.
func NeedsSwitchover(live *appsv1.Deployment) bool {
	return IsRelease09s(live) && !HasNewPods(&live.Spec.Template) && ptr.Deref(live.Spec.Replicas, 1) > 0
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
