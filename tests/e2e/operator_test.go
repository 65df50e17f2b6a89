// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
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

	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

const (
	reconcileTotal = "controller_runtime_reconcile_total"
	activeWorkers  = "controller_runtime_active_workers"
	queueDepth     = "workqueue_depth"
	requestsTotal  = "rest_client_requests_total"
)

// operatorPod is the operator's one pod that is not ending.
func operatorPod(t *testing.T) *corev1.Pod {
	t.Helper()
	var list corev1.PodList
	err := kube.List(t.Context(), &list, client.InNamespace(operatorNamespace), client.MatchingLabels{"control-plane": "controller-manager"})
	if err != nil {
		t.Fatal(err)
	}
	var pod *corev1.Pod
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			if pod != nil {
				t.Fatalf("%d pods of the operator", len(list.Items))
			}
			pod = &list.Items[i]
		}
	}
	return pod
}

// operatorMetricsText asks the operator's metrics endpoint.
func operatorMetricsText(t *testing.T) string {
	t.Helper()
	status, text := call(t, http.MethodGet, "http://"+operatorPod(t).Status.PodIP+":8080/metrics", nil)
	if status != http.StatusOK {
		t.Fatalf("the operator's metrics endpoint answers %d", status)
	}
	return string(text)
}

// operatorMetrics are the samples of one metric by their labels as written. Those of looking after the webhooks' certificate,
// which has nothing to do with resources, are left out.
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

// afterPass does something and waits until the operator has made a pass since, and has nothing more to do.
func afterPass(t *testing.T, do func()) {
	t.Helper()
	before := sum(operatorMetrics(t, reconcileTotal))
	do()
	waitPasses(t, before+1)
}

// waitPasses waits until the operator has made so many passes since its start, and has nothing more to do.
func waitPasses(t *testing.T, want float64) {
	t.Helper()
	fixture.Eventually(t, soon, "the operator has made its passes", func() error {
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
		{operatorPod(t), operatorName, "/manager --leader-elect", "65532", true},
		{s.pod(t), s.name + "-sa", "llama stack run", "1001", false},
	} {
		var ns corev1.Namespace
		if err := kube.Get(t.Context(), client.ObjectKey{Name: c.pod.Namespace}, &ns); err != nil {
			t.Fatal(err)
		}
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

// Proves: FR-026, R48, R56, L-28.
func operatorRestartWritesNothing(t *testing.T) {
	s := sampleStack(t)
	before := s.settled(t)
	former := operatorPod(t)
	if err := kube.Delete(t.Context(), former); err != nil {
		t.Fatal(err)
	}
	fixture.Eventually(t, time.Minute, "another pod of the operator leads", func() error {
		pod := operatorPod(t)
		if pod == nil || pod.UID == former.UID || pod.Status.PodIP == "" || len(pod.Status.ContainerStatuses) == 0 || !pod.Status.ContainerStatuses[0].Ready {
			return errors.New("it is not ready yet")
		}
		var leases coordinationv1.LeaseList
		if err := kube.List(t.Context(), &leases, client.InNamespace(operatorNamespace)); err != nil {
			return err
		}
		for i := range leases.Items {
			if strings.HasPrefix(ptr.Deref(leases.Items[i].Spec.HolderIdentity, ""), pod.Name) {
				return nil
			}
		}
		return fmt.Errorf("pod %s holds none of the %d leases", pod.Name, len(leases.Items))
	})
	did(t, "the operator's pod was deleted; another one leads")
	waitPasses(t, 1)
	after := s.settled(t) // the new pod asks the server again, which takes longer than its first pass
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("somebody wrote (-before +after):\n%s", diff)
	}
	did(t, "it looked at everything, and wrote neither status nor objects")
}

// Proves: R56, L-03.
func idleOperatorAsksNothing(t *testing.T) {
	const idle = 10 * time.Second
	s := sampleStack(t)
	s.settled(t)
	waitPasses(t, 1)
	before, passes := apiRequests(t), sum(operatorMetrics(t, reconcileTotal))
	renewals := before[http.MethodPut]
	fixture.Consistently(t, idle, "the operator is idle", func() error {
		now := apiRequests(t)
		renewals = now[http.MethodPut]
		now[http.MethodPut] = before[http.MethodPut]
		if !maps.Equal(before, now) || sum(operatorMetrics(t, reconcileTotal)) != passes {
			return fmt.Errorf("it made requests or passes (-before +after):\n%s", cmp.Diff(before, now))
		}
		return nil
	})
	if got := renewals - before[http.MethodPut]; got < 1 || got > idle.Seconds() {
		t.Errorf("%g renewals of the lease in %s", got, idle)
	}
	did(t, "in %s the operator made no pass and no request but %g renewals of its lease", idle, renewals-before[http.MethodPut])
}

// apiRequests counts the operator's requests to the API server by method. Only the renewal of the lease is a PUT.
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
