// SPDX-License-Identifier: Apache-2.0

package release09

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

// AnnotationSwitchover marks a Deployment whose old pods of release 0.9 keep running until the Service routes only to
// new ones.
const AnnotationSwitchover = "llamastack.io/switchover"

// switchoverSeconds is minReadySeconds during a hold: without the operator, the rollout continues after this time. It
// must be less than progressDeadlineSeconds.
const switchoverSeconds = 300

// NeedsSwitchover reports whether the rollout must be held, because pods of release 0.9 stop at once on SIGTERM while
// requests still arrive.
func NeedsSwitchover(live *appsv1.Deployment) bool {
	return live != nil && !names.HasNewPods(&live.Spec.Template) && ptr.Deref(live.Spec.Replicas, 1) > 0
}

// IsHeld reports whether HoldRollout holds the Deployment's rollout.
func IsHeld(d *appsv1.Deployment) bool { return d != nil && d.Annotations[AnnotationSwitchover] != "" }

// HoldRollout makes a rollout start all new pods and keep all old ones.
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
