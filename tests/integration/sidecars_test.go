// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// Proves: R72, L-20 (containers of the user run beside the server, their Secrets are waited for and restart the pods, and
// what the API server refuses of them is reported at its field).
func TestContainersOfTheUserRunBesideTheServer(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.StartOperator()
	const restricted = `securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}`
	e.Apply(framework.Manifest("with", `distribution: {name: starter}
workload:
  startupTimeoutSeconds: 61
  overrides:
    volumes: [{name: shared, emptyDir: {}}]
    initContainers: [{name: proxy, image: registry.example/proxy:1, restartPolicy: Always, ports: [{containerPort: 15001}], `+restricted+`}]
    sidecars:
    - name: agent
      image: registry.example/agent:1
      env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: agent, key: token}}}]
      volumeMounts: [{name: shared, mountPath: /shared}]
      `+restricted))
	e.WaitCondition("with", v1alpha2.ConditionReady, metav1.ConditionFalse, string(problem.SecretNotFound),
		"spec.workload.overrides.sidecars[0].env[0].valueFrom.secretKeyRef: Secret not found: agent")
	e.CreateSecret("agent", map[string]string{"token": suite.Canaries.New()})
	e.WaitReady("with")
	d := e.Deployment("with")
	pod := d.Spec.Template.Spec
	if len(pod.Containers) != 2 || pod.Containers[0].Name != names.ContainerName || pod.Containers[1].Name != "agent" || pod.Containers[1].VolumeMounts[0].Name != "shared" {
		t.Errorf("containers %+v", pod.Containers)
	}
	if proxy := pod.InitContainers; len(proxy) != 1 || proxy[0].RestartPolicy == nil || *proxy[0].RestartPolicy != corev1.ContainerRestartPolicyAlways {
		t.Errorf("init containers %+v", proxy)
	}
	if probe := pod.Containers[0].StartupProbe; probe.FailureThreshold*probe.PeriodSeconds != 62 || *d.Spec.ProgressDeadlineSeconds != 361 {
		t.Errorf("startup probe %+v, progress deadline %d", probe, *d.Spec.ProgressDeadlineSeconds)
	}
	if d.Spec.Template.Annotations[names.AnnotationSecretsHash] == "" {
		t.Error("a new value of the sidecar's Secret would restart nothing")
	}

	for patch, want := range map[string]string{
		`[{"name":"agent","image":"a:1","restartPolicy":"Sometimes"}]`:                         "spec.workload.overrides.sidecars[0]",
		`[{"name":"b","image":"b:1"},{"name":"agent","image":"a:1","ports":[{"hostPort":1}]}]`: "spec.workload.overrides.sidecars[1].ports[0].containerPort",
	} {
		e.PatchSpec("with", `{"workload":{"overrides":{"sidecars":`+patch+`}}}`)
		e.WaitCondition("with", v1alpha2.ConditionReady, metav1.ConditionFalse, string(problem.ObjectRejected), want)
	}
	if now := e.Deployment("with"); now.Generation != d.Generation {
		t.Errorf("a refused edit changed the Deployment: generation %d was %d", now.Generation, d.Generation)
	}
	e.PatchSpec("with", `{"workload":{"overrides":null,"startupTimeoutSeconds":null}}`)
	e.WaitReady("with")
	pod = e.Deployment("with").Spec.Template.Spec
	if len(pod.InitContainers) > 0 || slices.ContainsFunc(pod.Containers, func(c corev1.Container) bool { return c.Name == "agent" }) {
		t.Errorf("left over: %+v %+v", pod.InitContainers, pod.Containers)
	}
}
