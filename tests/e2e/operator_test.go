// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const (
	reconcileTotal = "controller_runtime_reconcile_total"
	activeWorkers  = "controller_runtime_active_workers"
	queueDepth     = "workqueue_depth"
	requestsTotal  = "rest_client_requests_total"
	leaderStatus   = "leader_election_master_status"
)

// operatorPod returns the leading pod of the operator, or nil.
func operatorPod(t *testing.T) *corev1.Pod {
	t.Helper()
	var lease coordinationv1.Lease
	framework.NoError(t, kube.Get(t.Context(), client.ObjectKey{Namespace: framework.OperatorNamespace, Name: framework.OperatorLease}, &lease))
	var pods corev1.PodList
	err := kube.List(t.Context(), &pods, client.InNamespace(framework.OperatorNamespace), client.MatchingLabels{"control-plane": "controller-manager"})
	framework.NoError(t, err)
	for i := range pods.Items {
		if strings.HasPrefix(ptr.Deref(lease.Spec.HolderIdentity, ""), pods.Items[i].Name+"_") {
			return &pods.Items[i]
		}
	}
	return nil
}

// metricsWeb does not verify the self-signed certificate of the operator's metrics endpoint.
var metricsWeb = &http.Client{
	Timeout:   time.Minute,
	Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
}

// metricsToken is a token of a ServiceAccount that may read the operator's metrics. The operator reviews a token once a
// minute.
var metricsToken string

func newMetricsToken(t *testing.T) string {
	t.Helper()
	kubectl := in(t, framework.OperatorNamespace).Kubectl
	const reader = "e2e-metrics"
	for _, args := range [][]string{
		{"create", "serviceaccount", reader},
		{"create", "clusterrolebinding", reader, "--clusterrole=llama-stack-k8s-operator-metrics-reader", "--serviceaccount=" + framework.OperatorNamespace + ":" + reader},
	} {
		kubectlApplied(t, args...)
	}
	return strings.TrimSpace(kubectl("create", "token", reader))
}

func kubectlApplied(t *testing.T, args ...string) {
	t.Helper()
	out, err := cluster.KubectlRun(t.Context(), append(args, "-n", framework.OperatorNamespace)...)
	if err != nil && !strings.Contains(out, "already exists") {
		t.Fatalf("%v: %s", err, out)
	}
}

func operatorMetricsText(t *testing.T) string {
	t.Helper()
	if metricsToken == "" {
		metricsToken = newMetricsToken(t)
	}
	pod := operatorPod(t)
	if pod == nil {
		t.Fatal("no replica of the operator leads")
	}
	url := "https://" + pod.Status.PodIP + ":8443/metrics"
	status, text, err := framework.Send(t.Context(), metricsWeb, http.MethodGet, url, "", "Authorization", "Bearer "+metricsToken)
	if err != nil || status != http.StatusOK {
		t.Fatalf("the operator's metrics endpoint answers %d, %v: %s", status, err, text)
	}
	return string(text)
}

// operatorMetrics returns the samples of a metric by their labels, without those of the webhook certificate's
// controller, which handles no custom resources.
func operatorMetrics(t *testing.T, name string) map[string]float64 {
	t.Helper()
	samples := map[string]float64{}
	for line := range strings.Lines(operatorMetricsText(t)) {
		labels, ok := strings.CutPrefix(line, name)
		i := strings.LastIndex(labels, " ")
		if !ok || i < 0 || (labels[0] != '{' && labels[0] != ' ') || strings.Contains(labels, `"webhook-certificate"`) {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(labels[i:]), 64)
		if err != nil {
			t.Fatalf("metric %s: %v", name, err)
		}
		samples[labels[:i]] = value
	}
	return samples
}

func sum(samples map[string]float64) (total float64) {
	for _, v := range samples {
		total += v
	}
	return total
}

// waitPasses waits until the operator has made the number of reconciles since its start, and is idle.
func waitPasses(t *testing.T, want float64) {
	t.Helper()
	framework.Eventually(t, soon, "the operator has made its passes", func() error {
		passes, busy := sum(operatorMetrics(t, reconcileTotal)), sum(operatorMetrics(t, activeWorkers))
		if waiting := sum(operatorMetrics(t, queueDepth)); passes < want || busy > 0 || waiting > 0 {
			return fmt.Errorf("%g of %g passes made, %g under way, %g waiting", passes, want, busy, waiting)
		}
		return nil
	})
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
		{operatorPod(t), framework.OperatorName, "/manager --leader-elect", "65532", true},
		{s.pod(t), s.name + "-sa", "llama stack run", "1001", false},
	} {
		var ns corev1.Namespace
		framework.NoError(t, kube.Get(t.Context(), client.ObjectKey{Name: c.pod.Namespace}, &ns))
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

// Proves: R56, L-03.
func idleOperatorAsksNothing(t *testing.T) {
	const idle = 10 * time.Second
	s := sampleStack(t)
	s.settled(t)
	metricsToken = newMetricsToken(t) // the operator reviews the token now, and not again in the next minute
	waitPasses(t, 1)
	if diff := cmp.Diff(map[string]float64{`{name="` + framework.OperatorLease + `"}`: 1}, operatorMetrics(t, leaderStatus)); diff != "" {
		t.Errorf("the lease that the leader holds, in its metrics (-want +got):\n%s", diff)
	}
	before, passes := apiRequests(t), sum(operatorMetrics(t, reconcileTotal))
	renewals := before[http.MethodPut]
	framework.Consistently(t, idle, "the operator is idle", func() error {
		now := apiRequests(t)
		renewals = now[http.MethodPut]
		now[http.MethodPut] = before[http.MethodPut]
		if !maps.Equal(before, now) || sum(operatorMetrics(t, reconcileTotal)) != passes {
			return fmt.Errorf("it made requests or passes (-before +after):\n%s", cmp.Diff(before, now))
		}
		return nil
	})
	if got := renewals - before[http.MethodPut]; got < 1 || got > 1.5*idle.Seconds() {
		t.Errorf("%g renewals of the lease in %s", got, idle)
	}
	did(t, "in %s the operator made no pass and no request but %g renewals of its lease", idle, renewals-before[http.MethodPut])
}

// Proves: R86 (an edit takes few reconciles, and few reads of Secrets, until its pod is ready and the status reports
// it).
func editTakesFewReconciles(t *testing.T) {
	const most = 8 // five on an idle machine; a slow one reconciles more intermediate states
	s := sampleStack(t)
	s.settled(t)
	waitPasses(t, 1)
	before, began := sum(operatorMetrics(t, reconcileTotal)), time.Now()
	s.in(t).Kubectl("patch", "llsd", s.name, "--type=merge", "-p",
		fmt.Sprintf(`{"spec": {"workload": {"overrides": {"env": [{"name": "EDITED", "value": "%d"}]}}}}`, began.Unix()))
	s.waitTaken(t)
	s.waitReady(t)
	s.settled(t)
	waitPasses(t, before+1)
	passes := sum(operatorMetrics(t, reconcileTotal)) - before
	requests, err := cluster.Requests()
	framework.NoError(t, err)
	reads := 0
	for _, r := range requests {
		if r.Received.After(began) && r.Resource == "secrets" && r.Verb == "get" && r.Namespace == s.namespace && strings.Contains(r.User, framework.OperatorName) {
			reads++
		}
	}
	if passes > most || reads > most {
		t.Errorf("%g reconciles and %d reads of Secrets after one edit, want at most %d", passes, reads, most)
	}
	did(t, "one edit took %g reconciles and %d reads of Secrets", passes, reads)
}

// apiRequests counts the operator's requests to the API server by method; PUT only renews the lease.
func apiRequests(t *testing.T) map[string]float64 {
	t.Helper()
	requests := map[string]float64{}
	for labels, n := range operatorMetrics(t, requestsTotal) {
		_, rest, _ := strings.Cut(labels, `method="`)
		method, _, _ := strings.Cut(rest, `"`)
		requests[method] += n
	}
	return requests
}
