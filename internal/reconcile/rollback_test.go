// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Proves: R94 (the API server did not refuse a pod that was just deleted; a server that was available once keeps its
// template).
func TestMissingPodIsAFailureIfItIsRefused(t *testing.T) {
	set := func(command string) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "llama-stack", Command: []string{command}}},
		}}}}
	}
	ending := []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: new(metav1.Now())}}}
	d := &appsv1.Deployment{}
	for name, list := range map[string][]corev1.Pod{"none": nil, "ending": ending} {
		if helps("my-stack", set("new"), set("former"), list, d) {
			t.Errorf("%s: rollback without a failure", name)
		}
	}
	d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue,
		LastTransitionTime: metav1.Now()}}
	if !helps("my-stack", set("new"), set("former"), nil, d) {
		t.Error("no rollback of pods that the API server refuses")
	}

	current := set("new")
	current.Name = "my-stack-1"
	for name, rollsBack := range map[string]bool{"my-stack-1": false, "my-stack-10": true} {
		d.Status.Conditions = append(d.Status.Conditions[:1], appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing,
			Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable", Message: `ReplicaSet "` + name + `" has successfully progressed.`})
		if got := helps("my-stack", current, set("former"), nil, d); got != rollsBack {
			t.Errorf("after the rollout of %s: rollback %t", name, got)
		}
	}
}
