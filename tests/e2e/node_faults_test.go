// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const (
	// editGoal is the goal for an edit after the API server is back; a busy machine misses it, so only editBound fails the
	// test.
	editGoal, editBound = 5 * time.Second, time.Minute
	// requestTimeout is far above the goal: a client that gives up on a stored edit does not know when it was stored.
	requestTimeout = 30 * time.Second
	// recovery bounds every wait.
	recovery = 5 * time.Minute
)

// TestNodeFaults takes a quarter of an hour: "make test-node-faults" runs it.
func TestNodeFaults(t *testing.T) {
	if os.Getenv("LLSD_CHAOS") != "full" {
		t.Skip("only with LLSD_CHAOS=full: it takes a quarter of an hour")
	}
	use(t, &pinned)
	for _, fault := range []struct {
		name string
		away time.Duration
		cut  func(*testing.T) (fix func(context.Context) error)
	}{
		{"the API server hangs", 120 * time.Second, apiServerHangs},
		{"the API server is killed", 120 * time.Second, apiServerIsKilled},
		{"the network between the operator and the API server loses everything", 126 * time.Second, networkIsCut},
	} {
		t.Run(fault.name, func(t *testing.T) {
			begin(t, "", fault.name)
			operatorOutlives(t, fault.name, fault.away, fault.cut)
		})
	}
}

// Proves: L-30, R71 (the operator as pods of a node: the kubelet restarts none of its containers, servers continue to
// serve, and an edit made when the API server is back takes effect within a minute).
func operatorOutlives(t *testing.T, what string, away time.Duration, cut func(*testing.T) (fix func(context.Context) error)) {
	t.Helper()
	s := sampleStack(t)
	before := operatorContainers(t)
	url := s.url(t) + "/v1/health"
	fix := cut(t)
	restore := undoing(t, func(ctx context.Context) error {
		if err := fix(ctx); err != nil {
			return err
		}
		return framework.Poll(ctx, recovery, func() error { // the next fault needs the API server after a failure too
			ctx, cancel := context.WithTimeout(ctx, requestTimeout)
			defer cancel()
			_, err := cluster.KubectlRun(ctx, "get", "--raw", "/readyz")
			return err
		})
	})
	framework.Consistently(t, away, "the server answers", func() error {
		status, _, err := tryCall(t, http.MethodGet, url, nil)
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("status %d: %w", status, err)
		}
		return nil
	})
	restore()
	if t.Failed() {
		t.FailNow()
	}
	value := ""
	framework.Eventually(t, recovery, "the API server takes an edit", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), requestTimeout)
		defer cancel()
		cr := &v1alpha2.LlamaStackDistribution{}
		cr.Namespace, cr.Name = s.namespace, s.name
		// Each attempt has a new value, so that the measured edit is the one that succeeded.
		value = time.Now().Format(time.StampMilli)
		patch := `{"spec":{"workload":{"podMetadata":{"annotations":{"example.com/edit":"` + value + `"}}}}}`
		return kube.Patch(ctx, cr, client.RawPatch(types.MergePatchType, []byte(patch)))
	})
	stored := time.Now()
	framework.Eventually(t, editBound, "the edit takes effect", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), requestTimeout)
		defer cancel()
		d := &appsv1.Deployment{}
		if err := kube.Get(ctx, s.key(), d); err != nil {
			return err
		}
		if d.Spec.Template.Annotations["example.com/edit"] != value {
			return errors.New("the Deployment does not have it")
		}
		return nil
	})
	took := time.Since(stored)
	s.waitReady(t)
	if after := operatorContainers(t); after != before {
		t.Errorf("the operator's containers are %s, and were %s", after, before)
	}
	did(t, "%s for %s: the operator's containers are %s as before, the server answered, and an edit took effect %.1f s after it was stored (the goal is %.0f s)",
		what, away, before, took.Seconds(), editGoal.Seconds())
}

// operatorContainers returns the operator's pods and the restart counts of their containers.
func operatorContainers(t *testing.T) string {
	t.Helper()
	var pods corev1.PodList
	framework.NoError(t, kube.List(t.Context(), &pods, client.InNamespace(framework.OperatorNamespace), client.MatchingLabels{"control-plane": "controller-manager"}))
	var all []string
	for i := range pods.Items {
		for j := range pods.Items[i].Status.ContainerStatuses {
			all = append(all, fmt.Sprintf("%s (%d restarts)", pods.Items[i].Name, pods.Items[i].Status.ContainerStatuses[j].RestartCount))
		}
	}
	return strings.Join(all, ", ")
}

// apiServerHangs stops the API server's process: it keeps its connections, and does not answer.
func apiServerHangs(t *testing.T) (fix func(context.Context) error) {
	t.Helper()
	server := findNodeProcess(t, "kube-apiserver")
	framework.NoError(t, server.signal(syscall.SIGSTOP))
	return func(context.Context) error { return server.signal(syscall.SIGCONT) }
}

func apiServerIsKilled(t *testing.T) (fix func(context.Context) error) {
	t.Helper()
	server := findNodeProcess(t, "kube-apiserver")
	framework.NoError(t, server.kill(t.Context()))
	return func(context.Context) error { return startOnNode(server.name, server.command) }
}

// networkIsCut drops all traffic between the operator's pods and the API server.
func networkIsCut(t *testing.T) (fix func(context.Context) error) {
	t.Helper()
	var pods corev1.PodList
	framework.NoError(t, kube.List(t.Context(), &pods, client.InNamespace(framework.OperatorNamespace), client.MatchingLabels{"control-plane": "controller-manager"}))
	var addresses []string
	for i := range pods.Items {
		addresses = append(addresses, pods.Items[i].Status.PodIP)
	}
	set := "{ " + strings.Join(addresses, ", ") + " }"
	_, port, found := strings.Cut(strings.TrimPrefix(admin.Host, "https://"), ":")
	if len(addresses) < 2 || !found {
		t.Fatalf("the operator's pods have the addresses %s, and the API server is %s", set, admin.Host)
	}
	framework.NoError(t, runOnNode(t.Context(), "nft", `table inet cut {
		chain to { type filter hook input priority 0; ip saddr `+set+` tcp dport `+port+` drop; }
		chain from { type filter hook output priority 0; ip daddr `+set+` tcp sport `+port+` drop; ip daddr `+set+` tcp dport 9443 drop; }
	}`))
	return func(ctx context.Context) error { return runOnNode(ctx, "nft", "delete", "table", "inet", "cut") }
}
