// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fakecluster"
)

// startingPod returns the pod of my-stack with a memory limit and this status of its container.
func startingPod(state corev1.ContainerStatus) client.Object {
	p := &corev1.Pod{}
	p.Spec.Containers = []corev1.Container{{
		Name:         "llama-stack",
		Resources:    corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")}},
		StartupProbe: &corev1.Probe{PeriodSeconds: 10, FailureThreshold: 180}, ReadinessProbe: &corev1.Probe{PeriodSeconds: 10, FailureThreshold: 6},
	}}
	state.Name = "llama-stack"
	p.Status.Phase, p.Status.ContainerStatuses = corev1.PodRunning, []corev1.ContainerStatus{state}
	return labeled(p, "my-stack-abc")
}

func crashing(code int32, reason string) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		RestartCount: 3, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}},
	}
}

func unhealthy(message string) client.Object {
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "unhealthy"}, Type: corev1.EventTypeWarning, Reason: "Unhealthy", Message: message, Count: 12,
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "my-stack-abc"}, LastTimestamp: metav1.NewTime(time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)),
	}
}

// Proves: R18, NFR-004.
func TestStatusSaysWhatToDoAboutEachCause(t *testing.T) {
	no, yes := false, true
	refused := &appsv1.Deployment{Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{
		Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "exceeded quota",
	}}}}
	for name, c := range map[string]struct {
		message string
		objects []client.Object
		want    string
	}{
		"out of memory": {
			"0 of 1 pods are available: the server ended with exit code 137 (OOMKilled): it used more than its memory limit of 512Mi; raise spec.workload.resources.limits.memory",
			[]client.Object{startingPod(crashing(137, "OOMKilled"))},
			"  0 of 1 pods are available: the server ended with exit code 137 (OOMKilled): it used more than its memory limit of 512Mi\n" +
				"  What to do: raise spec.workload.resources.limits.memory\n",
		},
		"a crash": {
			"0 of 1 pods are available: the server ended with exit code 1: ValueError: x; its log has the cause: kubectl -n ai logs my-stack-abc -c llama-stack --previous",
			[]client.Object{startingPod(crashing(1, "Error"))},
			"  0 of 1 pods are available: the server ended with exit code 1: ValueError: x\n  What to do: its log has the cause: kubectl -n ai logs my-stack-abc -c llama-stack --previous\n",
		},
		"a quota": {
			"0 of 1 pods are up to date: no pod can be created: exceeded quota; " + status.RefusedRemedy, []client.Object{labeled(refused, "my-stack")},
			"no pod can be created: exceeded quota\n  What to do: " + status.RefusedRemedy + "\n",
		},
		"a server that does not start": {
			"0 of 1 up-to-date pods are available",
			[]client.Object{startingPod(corev1.ContainerStatus{Started: &no}), unhealthy(`Startup probe failed: Get "http://10.0.0.1:8321/v1/health": connection refused`)},
			`  0 of 1 up-to-date pods are available; Startup probe failed: Get "http://10.0.0.1:8321/v1/health": connection refused (12 times of 180, each 10s)` +
				"\n  What to do: the server has 30m0s to start, then it is restarted. Its log says what it does: kubectl llamastack logs my-stack -n ai\n",
		},
		"a server that stopped to answer": {
			"0 of 1 up-to-date pods are available",
			[]client.Object{startingPod(corev1.ContainerStatus{Started: &yes}), unhealthy("Readiness probe failed: HTTP probe failed with statuscode: 503")},
			"Readiness probe failed: HTTP probe failed with statuscode: 503 (12 times, each 10s)\n" +
				"  What to do: see why it does not answer: kubectl llamastack logs my-stack -n ai\n",
		},
		"nothing but time": {
			"0 of 1 up-to-date pods are available", []client.Object{startingPod(corev1.ContainerStatus{Started: &no})},
			"  What to do: If the message names a cause, do what it says. Otherwise wait, and look at the pods if it takes long.\n",
		},
	} {
		cr := stack(t, "my-stack", "DeploymentUpdated=False RolloutInProgress: "+c.message, "Ready=False RolloutInProgress: x")
		out, _ := runWithLogs(t, fakecluster.New(t, append(c.objects, cr)...), noLog, "my-stack")
		if !strings.Contains(out, c.want) {
			t.Errorf("%s:\n%s\nwant %s", name, out, c.want)
		}
	}
}

func noLog(context.Context, string, string, *corev1.PodLogOptions) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("")), nil
}

func TestStatusShowsTheEndOfTheLogOfAServerThatEnded(t *testing.T) {
	cr := stack(t, "my-stack", "Ready=False RolloutInProgress: x")
	ended := corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}}}
	for name, c := range map[string]struct {
		state    corev1.ContainerStatus
		previous bool
	}{"that restarts": {crashing(1, "Error"), true}, "that has just ended": {ended, false}} {
		logs := func(_ context.Context, namespace, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
			if namespace != "ai" || pod != "my-stack-abc" || o.Container != "llama-stack" || o.Previous != c.previous || *o.TailLines != 10 {
				return nil, fmt.Errorf("%s/%s: %+v", namespace, pod, o)
			}
			return io.NopCloser(strings.NewReader("loading\nValueError: x\n")), nil
		}
		world := fakecluster.New(t, cr.DeepCopy(), startingPod(c.state))
		out, _ := runWithLogs(t, world, logs, "my-stack")
		if want := "\nEnd of the log of pod my-stack-abc, container llama-stack\n  loading\n  ValueError: x\n"; !strings.Contains(out, want) {
			t.Errorf("a server %s:\n%s\nwant %s", name, out, want)
		}
		if out, _ := runWithLogs(t, world, logs, "my-stack", "-o", "yaml"); !strings.Contains(out, "log:\n  container: llama-stack\n  lines:\n  - loading\n") {
			t.Errorf("for programs:\n%s", out)
		}
	}
	for want, err := range map[string]error{
		"the log of pod my-stack-abc: no permission to read it": apierrors.NewForbidden(schema.GroupResource{Resource: "pods/log"}, "x", nil),
		"the log of pod my-stack-abc: timed out":                errors.New("timed out"),
	} {
		out, _ := runWithLogs(t, fakecluster.New(t, cr.DeepCopy(), startingPod(ended)), func(context.Context, string, string, *corev1.PodLogOptions) (io.ReadCloser, error) {
			return nil, err
		}, "my-stack")
		if !strings.Contains(out, "\n  "+want+"\n") {
			t.Errorf("%s\nwant %s", out, want)
		}
	}
}
