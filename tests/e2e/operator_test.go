// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/tls"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

const operatorLease = "54e06e98.llamastack.io"

// operatorPod is the pod of the operator that leads; nil while none does.
func operatorPod(t *testing.T) *corev1.Pod {
	t.Helper()
	var lease coordinationv1.Lease
	if err := kube.Get(t.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: operatorLease}, &lease); err != nil {
		t.Fatal(err)
	}
	var pods corev1.PodList
	err := kube.List(t.Context(), &pods, client.InNamespace(operatorNamespace), client.MatchingLabels{"control-plane": "controller-manager"})
	fixture.NoError(t, err)
	for i := range pods.Items {
		if strings.HasPrefix(ptr.Deref(lease.Spec.HolderIdentity, ""), pods.Items[i].Name+"_") {
			return &pods.Items[i]
		}
	}
	return nil
}

// metricsWeb does not verify the certificate of the operator's metrics endpoint, which signs it itself.
var metricsWeb = &http.Client{
	Timeout:   time.Minute,
	Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
}

// metricsToken is a token of a ServiceAccount that may read the operator's metrics. The operator asks the API server about a token once
// in a minute.
var metricsToken string

func newMetricsToken(t *testing.T) string {
	t.Helper()
	kubectl := stack{namespace: operatorNamespace}.kubectl
	const reader = "e2e-metrics"
	for _, args := range [][]string{
		{"create", "serviceaccount", reader},
		{"create", "clusterrolebinding", reader, "--clusterrole=llama-stack-k8s-operator-metrics-reader", "--serviceaccount=" + operatorNamespace + ":" + reader},
	} {
		kubectlApplied(t, args...)
	}
	return strings.TrimSpace(kubectl(t, "create", "token", reader))
}

// kubectlApplied creates what need not be new.
func kubectlApplied(t *testing.T, args ...string) {
	t.Helper()
	out, err := cluster.KubectlRun(t.Context(), append(args, "-n", operatorNamespace)...)
	if err != nil && !strings.Contains(out, "already exists") {
		t.Fatalf("%v: %s", err, out)
	}
}

// operatorMetricsText asks the metrics endpoint of the replica that leads.
func operatorMetricsText(t *testing.T) string {
	t.Helper()
	if metricsToken == "" {
		metricsToken = newMetricsToken(t)
	}
	pod := operatorPod(t)
	if pod == nil {
		t.Fatal("no replica of the operator leads")
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+pod.Status.PodIP+":8443/metrics", http.NoBody)
	fixture.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+metricsToken)
	answer, err := metricsWeb.Do(request)
	fixture.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("the operator's metrics endpoint answers %d, %v: %s", answer.StatusCode, err, text)
	}
	return string(text)
}

// Proves: R27.
func operatorRunsWithoutPrivileges(t *testing.T) {
	s := sampleStack(t)
	for _, c := range []struct {
		pod            *corev1.Pod
		serviceAccount string
		command        string
		user           string
		token          bool
	}{
		{operatorPod(t), operatorName, "/manager --leader-elect", "65532", true},
		{s.pod(t), s.name + "-sa", "llama stack run", "1001", false},
	} {
		var ns corev1.Namespace
		fixture.NoError(t, kube.Get(t.Context(), client.ObjectKey{Name: c.pod.Namespace}, &ns))
		if got := ns.Labels["pod-security.kubernetes.io/enforce"]; got != "restricted" {
			t.Errorf("namespace %s enforces the Pod Security Standard %q", ns.Name, got)
		}
		if c.pod.Spec.ServiceAccountName != c.serviceAccount {
			t.Errorf("pod %s runs as ServiceAccount %s, want %s", c.pod.Name, c.pod.Spec.ServiceAccountName, c.serviceAccount)
		}
		hasToken := false
		for _, m := range c.pod.Spec.Containers[0].VolumeMounts {
			hasToken = hasToken || m.MountPath == "/var/run/secrets/kubernetes.io/serviceaccount"
		}
		if hasToken != c.token {
			t.Errorf("pod %s has a token of the API server: %t, want %t", c.pod.Name, hasToken, c.token)
		}
		if users, err := usersOf(cluster, c.command); err != nil || !slices.Equal(users, []string{c.user}) {
			t.Errorf("the processes %q of the cluster run as users %q (%v), want %s", c.command, users, err, c.user)
		}
		did(t, "pod %s: user %s, ServiceAccount %s, restricted namespace", c.pod.Name, c.user, c.serviceAccount)
	}
}
