// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: FR-012, FR-064, FR-066, US-6.1, R45, R72, R77 (on a node: the sample's pod has what the sample specifies, its
// process has the variables of the ConfigMap, and the server responds).
func podIsAsTheSampleSays(t *testing.T) {
	s := sampleStack(t)
	variables := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "server-settings"}, Data: map[string]string{"EXAMPLE_VARIABLE": "of-the-sample"},
	}
	framework.NoError(t, client.IgnoreAlreadyExists(kube.Create(t.Context(), variables)))
	for _, class := range []client.Object{
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "models"}, Value: 1000},
		&nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "models"}, Handler: "runc"},
	} {
		framework.NoError(t, client.IgnoreAlreadyExists(kube.Create(t.Context(), class)))
	}
	s.in(t).Kubectl("apply", "-f", filepath.Join(framework.Root(), "config", "samples", "v1alpha2-scheduling.yaml"))
	s.waitReady(t)
	s.chats(t, sampleServer, sampleServer, sampleModel)

	pod := s.pod(t)
	if pod.Spec.NodeSelector["kubernetes.io/os"] != "linux" || pod.Labels["example.com/team"] != "ai" || pod.Annotations["example.com/cost-center"] != "4711" ||
		ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, 0) != 60 || len(pod.Spec.TopologySpreadConstraints) != 1 {
		t.Errorf("the pod is %+v, with %+v", pod.ObjectMeta, pod.Spec)
	}
	if a := pod.Spec.Affinity; ptr.Deref(pod.Spec.Priority, 0) != 1000 || ptr.Deref(pod.Spec.RuntimeClassName, "") != "models" || a == nil || a.NodeAffinity == nil || a.PodAntiAffinity != nil ||
		!slices.Equal(pod.Spec.ImagePullSecrets, []corev1.LocalObjectReference{{Name: "registry-credentials"}}) {
		t.Errorf("the pod is %+v", pod.Spec)
	}
	if !slices.ContainsFunc(pod.Spec.Tolerations, func(o corev1.Toleration) bool { return o.Key == "example.com/pool" && o.Value == "ai" }) {
		t.Errorf("the pod tolerates %+v", pod.Spec.Tolerations)
	}
	if r := pod.Spec.Containers[0].Resources; r.Requests.Cpu().String() != "250m" || len(r.Limits) > 0 {
		t.Errorf("resources %+v, want the requests of the sample and no limits", r)
	}
	budget := &policyv1.PodDisruptionBudget{}
	framework.NoError(t, kube.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: s.name + "-pdb"}, budget))
	if got := budget.Spec.MaxUnavailable; got == nil || got.IntValue() != 1 {
		t.Errorf("the budget is %+v", budget.Spec)
	}
	if !serverHasVariable(t, "EXAMPLE_VARIABLE=of-the-sample") {
		t.Error("no process of the server has the variable of the ConfigMap")
	}
	did(t, "config/samples/v1alpha2-scheduling.yaml is applied unchanged: a chat completion, and the pod and its process are as it says")

	s.in(t).Kubectl("apply", "-f", filepath.Join(framework.Root(), "config", "samples", "v1alpha2-autoscaling.yaml"))
	s.waitReady(t)
	s.chats(t, sampleServer, sampleServer, sampleModel)
	scaler, ingress := &autoscalingv2.HorizontalPodAutoscaler{}, &networkingv1.Ingress{}
	for name, o := range map[string]client.Object{s.name + "-hpa": scaler, s.name + "-ingress": ingress} {
		framework.NoError(t, kube.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, o))
	}
	if got := scaler.Spec; got.MaxReplicas != 3 || *got.MinReplicas != 1 || *got.Metrics[0].Resource.Target.AverageUtilization != 75 {
		t.Errorf("the autoscaler is %+v", got)
	}
	if got := ingress.Spec.Rules; len(got) != 1 || got[0].Host != "llama.example.com" {
		t.Errorf("the Ingress has the rules %+v", got)
	}
	did(t, "config/samples/v1alpha2-autoscaling.yaml is applied unchanged: a chat completion, an autoscaler and an Ingress as it says")
	ownConfigurationRuns(t, s)
	deviceIsWaitedFor(t, s)
}

// ownConfigurationRuns runs the real server with a user's configuration, and a variable from a Secret.
func ownConfigurationRuns(t *testing.T, s stack) {
	t.Helper()
	s.in(t).Kubectl("apply", "-f", filepath.Join(framework.Root(), "config", "samples", "override-config.yaml"))
	s.waitReady(t)
	s.chats(t, sampleServer, sampleServer, sampleModel)
	providers := s.providers(t)
	if len(providers) != 1 || providers[0].ID != sampleServer {
		t.Errorf("the server has the providers %+v, want the one of the configuration", providers)
	}
	did(t, "config/samples/override-config.yaml is applied unchanged: a chat completion, and no provider but its own")
}

func serverHasVariable(t *testing.T, variable string) bool {
	t.Helper()
	all, err := processes()
	framework.NoError(t, err)
	for pid, p := range all {
		if !strings.Contains(p.command, "llama stack run") || !belongs(all, pid, cluster.Dir) {
			continue
		}
		environment, err := os.ReadFile("/proc/" + pid + "/environ")
		if err == nil && slices.Contains(strings.Split(string(environment), "\x00"), variable) {
			return true
		}
	}
	return false
}
