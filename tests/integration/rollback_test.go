// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

const typo = "servr"

func hasTypo(pod *corev1.Pod) bool {
	return slices.Equal(pod.Spec.Containers[0].Command, []string{typo})
}

// failStart writes what a kubelet writes about pods with the typo.
func (e *env) failStart() error {
	var list corev1.PodList
	if err := suite.Admin.List(e.T.Context(), &list, client.InNamespace(e.Name)); err != nil {
		return err
	}
	for i := range list.Items {
		pod := &list.Items[i]
		if !hasTypo(pod) || pod.Status.Phase == "" || len(pod.Status.ContainerStatuses) > 0 {
			continue
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "llama-stack", Image: "x", ImageID: "x",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: 128, Reason: "StartError", StartedAt: metav1.Now(), FinishedAt: metav1.Now(),
				Message: `exec: "servr": executable file not found in $PATH`,
			}},
		}}
		if err := suite.Admin.Status().Update(e.T.Context(), pod); err != nil {
			return err
		}
	}
	return nil
}

// Proves: R19, R94 (the former pods return with their ConfigMap if the only pod cannot start, and the status has the
// cause; the failed template returns only after an edit).
func TestFormerPodReturnsIfTheOnlyPodCannotStart(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.ready()
	e.PatchSpec("my-stack", `{"workload":{"storage":{}}}`)
	e.WaitReady("my-stack")
	former := objects.MountedConfigMap(&e.Deployment("my-stack").Spec.Template.Spec)

	e.Kubelet.Hold(hasTypo)
	e.PatchSpec("my-stack", `{"workload":{"overrides":{"command":["`+typo+`"]}},"resources":{"models":["edited"]}}`)
	e.WaitCondition("my-stack", v1alpha2.ConditionDeploymentUpdated, metav1.ConditionFalse, v1alpha2.ReasonRolloutInProgress)
	e.PatchSpec("my-stack", `{"resources":{"models":["edited","again"]}}`)
	framework.Eventually(t, 6*time.Minute, "the former pod template returns", func() error {
		_, err := e.HasCondition("my-stack", v1alpha2.ConditionDeploymentUpdated, metav1.ConditionFalse, v1alpha2.ReasonRolledBack)
		return errors.Join(err, e.failStart())
	})
	message := e.WaitCondition("my-stack", v1alpha2.ConditionDeploymentUpdated, metav1.ConditionFalse, v1alpha2.ReasonRolledBack)
	if !strings.Contains(message, "executable file not found") {
		t.Errorf("the message is: %s", message)
	}
	e.WaitCondition("my-stack", v1alpha2.ConditionAvailable, metav1.ConditionTrue, v1alpha2.ReasonServerAvailable)
	e.WaitCondition("my-stack", v1alpha2.ConditionReady, metav1.ConditionFalse, v1alpha2.ReasonRolledBack)
	e.WaitCondition("my-stack", v1alpha2.ConditionStalled, metav1.ConditionTrue, v1alpha2.ReasonRolledBack)
	e.Eventually("the status is about the former pods", func() error {
		s := e.CR("my-stack").Status
		if s.Phase != v1alpha2.PhaseReady || s.ConfigGeneration.ConfigMapName != former {
			return fmt.Errorf("phase %s, configuration %+v, want %s", s.Phase, s.ConfigGeneration, former)
		}
		return nil
	})
	back := e.Deployment("my-stack")
	if c := back.Spec.Template.Spec.Containers[0]; slices.Equal(c.Command, []string{typo}) ||
		objects.MountedConfigMap(&back.Spec.Template.Spec) != former {
		t.Errorf("the template has the command %q and mounts %s", c.Command, objects.MountedConfigMap(&back.Spec.Template.Spec))
	}
	framework.NoError(t, e.Get(&corev1.ConfigMap{}, former))

	e.Kubectl("label", "llsd", "my-stack", "example.com/note=1") // any event
	e.WaitCondition("my-stack", v1alpha2.ConditionDeploymentUpdated, metav1.ConditionFalse, v1alpha2.ReasonRolledBack)
	if got := e.Deployment("my-stack").Generation; got != back.Generation {
		t.Errorf("the Deployment changed after the rollback: generation %d, was %d", got, back.Generation)
	}

	e.PatchSpec("my-stack", `{"workload":{"overrides":null}}`)
	e.WaitReady("my-stack")
	if _, found := e.Deployment("my-stack").Annotations[names.AnnotationRolledBack]; found {
		t.Error("the Deployment still says that it was rolled back")
	}
}
