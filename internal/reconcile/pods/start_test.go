// SPDX-License-Identifier: Apache-2.0

package pods_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/pods"
)

// Proves: R94 (a pod that pulls its image needs time; other pods fail for a reason of their own).
func TestStartOfTellsFailuresFromTime(t *testing.T) {
	withInit := func(state corev1.ContainerState) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "install", State: state}}
		}
	}
	terminated := func(code int32, reason string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}}
	}
	sandbox := func(status corev1.ConditionStatus) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			waiting("ContainerCreating", "")(p)
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReadyToStartContainers, Status: status}}
		}
	}
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   pods.Start
	}{
		"new":                     {func(*corev1.Pod) {}, pods.Starting},
		"pulling its image":       {sandbox(corev1.ConditionTrue), pods.Starting},
		"without its volumes":     {sandbox(corev1.ConditionFalse), pods.NotPlaced},
		"without a node":          {unscheduled("0/1 nodes are available"), pods.NotPlaced},
		"without its image":       {waiting("ErrImagePull", "not found"), pods.NotStarted},
		"without its command":     {ended(128, "StartError", ""), pods.NotStarted},
		"ended":                   {ended(1, "Error", ""), pods.Ended},
		"out of memory":           {ended(137, "OOMKilled", ""), pods.Ended},
		"ready":                   {ready("x"), pods.Ready},
		"an init container fails": {withInit(terminated(1, "Error")), pods.NotStarted},
		"an init container ended": {withInit(terminated(0, "Completed")), pods.Starting},
		"an init container runs":  {withInit(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}), pods.Starting},
		"running after an end": {func(p *corev1.Pod) {
			ended(1, "Error", "")(p)
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
		}, pods.Starting},
		"running": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		}, pods.Starting},
	} {
		p := pod(0, c.change)
		if got := pods.StartOf(&p); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
		if ran := c.want == pods.Ended || name == "running" || name == "running after an end" || name == "without its command"; pods.HasRun(p) != ran {
			t.Errorf("%s: HasRun is %t", name, !ran)
		}
	}
}

// Proves: R94 (no command reads the log of a pod that the rollback replaces).
func TestExplainReplacedNamesNoLog(t *testing.T) {
	for want, change := range map[string]func(*corev1.Pod){
		"the server ended with exit code 0; its log went with the pod: to keep the pod, try again with spec.workload.rollback: Never": ended(0, "Completed", ""),
		"InvalidImageName: x; correct the name or the tag of the image":                                                               waiting("InvalidImageName", "x"),
		"": ready("x"),
	} {
		o := pods.Observe([]corev1.Pod{pod(0, change)}, "llama-stack", known)
		if got := o.ExplainReplaced(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
