// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// The server of this test exits with a message that quotes the value of a Secret.
//
// Proves: R7, R18, R76, L-17 (the status has the server's message for a pod that is not ready, without secrets; the
// digest is the pod's).
func TestStatusNamesTheReasonOfThePod(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.ready()
	var pods corev1.PodList
	framework.NoError(t, suite.Admin.List(t.Context(), &pods, client.InNamespace(e.Name), client.MatchingLabels{"app.kubernetes.io/instance": "my-stack"}))
	if len(pods.Items) != 1 {
		t.Fatalf("%d pods", len(pods.Items))
	}
	pod := &pods.Items[0]
	if got := pod.Spec.Containers[0].TerminationMessagePolicy; got != corev1.TerminationMessageFallbackToLogsOnError {
		t.Errorf("terminationMessagePolicy %s: the status of the pod would not have the end of the log", got)
	}

	pod.Status.Conditions[0].Status = corev1.ConditionFalse
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "llama-stack", Image: "x", ImageID: "x",
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 1, Reason: "Error", Message: "Traceback (most recent call last):\nValueError: the key " + canary + " was refused\n",
			StartedAt: metav1.Now(), FinishedAt: metav1.Now(),
		}},
	}}
	framework.NoError(t, suite.Admin.Status().Update(t.Context(), pod))
	const why = "the server ended with exit code 1: ValueError: the key [redacted] was refused; its log has the cause: kubectl -n "
	e.Eventually("Available names the reason", func() error {
		message := e.WaitCondition("my-stack", v1alpha2.ConditionAvailable, metav1.ConditionFalse, v1alpha2.ReasonServerUnavailable)
		if !strings.Contains(message, why) {
			return fmt.Errorf("it is: %s", message)
		}
		return nil
	})

	pod.Status.Conditions[0].Status = corev1.ConditionTrue
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	pod.Status.ContainerStatuses[0].Ready = true
	pod.Status.ContainerStatuses[0].ImageID = "docker.io/llamastack/distribution-starter@sha256:4711"
	framework.NoError(t, suite.Admin.Status().Update(t.Context(), pod))
	e.Eventually("the digest of the pod is in the status", func() error {
		if r := e.WaitReady("my-stack").Status.ResolvedDistribution; r.ImageDigest != "sha256:4711" {
			return fmt.Errorf("it is: %+v", r)
		}
		return nil
	})
}
