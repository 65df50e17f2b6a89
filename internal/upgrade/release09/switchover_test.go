// SPDX-License-Identifier: Apache-2.0

package release09_test

import (
	"maps"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
)

// Proves: R78.
func TestNeedsSwitchoverOnlyWithRunningPodsOfRelease09(t *testing.T) {
	change := func(change func(*appsv1.Deployment)) *appsv1.Deployment {
		d := deployment(nil)
		change(d)
		return d
	}
	for name, c := range map[string]struct {
		live *appsv1.Deployment
		want bool
	}{
		"none":           {nil, false},
		"release 0.9's":  {deployment(nil), true},
		"one replica":    {change(func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(1)) }), true},
		"scaled to zero": {change(func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(0)) }), false},
		"adopted":        {deployment(map[string]string{names.AnnotationBuild: release09.Build}), true},
		"this operator's": {change(func(d *appsv1.Deployment) {
			d.Spec.Template.Labels = map[string]string{names.LabelManagedBy: names.ManagedBy}
		}), false},
	} {
		if got := release09.NeedsSwitchover(c.live); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Proves: R78 (other annotations stay, and the caller's map is not changed).
func TestHoldRolloutStartsAllNewPodsAndKeepsTheOldOnes(t *testing.T) {
	if release09.IsHeld(nil) || release09.IsHeld(deployment(nil)) {
		t.Error("a rollout is held without the annotation")
	}
	for _, annotations := range []map[string]string{nil, {"team": "a"}} {
		before := maps.Clone(annotations)
		d := deployment(annotations)
		release09.HoldRollout(d)
		rolling := d.Spec.Strategy.RollingUpdate
		if !release09.IsHeld(d) || d.Annotations["team"] != before["team"] || !maps.Equal(annotations, before) {
			t.Errorf("annotations %v of %v", d.Annotations, annotations)
		}
		if d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || rolling.MaxSurge.String() != "100%" || rolling.MaxUnavailable.String() != "0" {
			t.Errorf("strategy %+v", d.Spec.Strategy)
		}
		if d.Spec.MinReadySeconds < 60 {
			t.Errorf("a new pod replaces an old one after %d seconds", d.Spec.MinReadySeconds)
		}
	}
}
