// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// lease returns the operator's lease, with its holder and the number of transitions.
func lease(t *testing.T) *coordinationv1.Lease {
	t.Helper()
	l, err := readLease(t)
	framework.NoError(t, err)
	return l
}

func readLease(t *testing.T) (*coordinationv1.Lease, error) {
	t.Helper()
	l := &coordinationv1.Lease{}
	return l, admin.Get(t.Context(), client.ObjectKey{Namespace: framework.OperatorNamespace, Name: framework.OperatorLease}, l)
}

// Proves: L-30 (with an API server that takes two seconds for each request, the leader keeps the lease and edits take
// effect; edits also take effect if a tenth of the requests fails).
func TestAPIServerIsSlowAndFlaky(t *testing.T) {
	p := newProxy(t)
	w, o, _ := startedWorld(t, p.kubeconfig)
	o.replicas[0].leads(t)

	slow := func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-time.After(2 * time.Second):
		case <-r.Context().Done():
		}
		return false
	}
	before := *lease(t).Spec.LeaseTransitions
	p.before.Store(&slow)
	slowest := time.Duration(0)
	for range rounds() {
		slowest = max(slowest, w.edit("s")())
	}
	if after := *lease(t).Spec.LeaseTransitions; after != before {
		t.Errorf("the lease was lost %d times", after-before)
	}
	figures.add(t, "API server takes 2 s for each request: an edit takes effect after", "15 s, lease kept", seconds(slowest))
	within(t, "an edit with a slow API server", slowest, 15*time.Second)

	random := rand.New(rand.NewPCG(1, 2))
	kinds := make(chan int, 1)
	kinds <- 0
	flaky := func(rw http.ResponseWriter, _ *http.Request) bool {
		count := <-kinds
		fails := random.IntN(10) == 0
		if fails {
			count++
		}
		kinds <- count
		if !fails {
			return false
		}
		switch count % 3 {
		case 0:
			http.Error(rw, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":500,"message":"chaos"}`, http.StatusInternalServerError)
		case 1:
			rw.Header().Set("Retry-After", "1")
			http.Error(rw, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":429,"reason":"TooManyRequests","message":"chaos"}`, http.StatusTooManyRequests)
		default:
			panic(http.ErrAbortHandler)
		}
		return true
	}
	p.before.Store(&flaky)
	var took []time.Duration
	for range 5 * rounds() {
		took = append(took, w.edit("s")())
	}
	p.pass()
	slices.Sort(took)
	figures.add(t, fmt.Sprintf("one of ten requests fails (500, 429, reset), %d edits: the slowest takes effect after", len(took)), "10 s", seconds(took[len(took)-1]))
	within(t, "an edit with a flaky API server", took[len(took)-1], 10*time.Second)
	w.waitReady("s")
	o.sameProcesses(t)
}

// Proves: L-30 (the operator abandons connections that lose all packets without being closed; a process that took the
// lease wrongly loses it unless it renews it).
func TestBlackholedConnectionsAreAbandoned(t *testing.T) {
	network := framework.StartForwarder(t, "127.0.0.1:0", apiServerAddress(t))
	w, o, r := startedWorld(t, through(t, network.Address(), nil))
	if network.Blackhole() == 0 {
		t.Fatal("there is no connection")
	}
	took := w.edit("s")()
	figures.add(t, "connections of the only replica are cut silently: an edit made right after takes effect after", "15 s", seconds(took))
	within(t, "an edit after a silent cut", took, 15*time.Second)

	before := len(r.Text())
	theft := fmt.Appendf(nil, `{"spec":{"holderIdentity":"thief","renewTime":%q}}`, time.Now().UTC().Format(metav1.RFC3339Micro))
	framework.NoError(t, admin.Patch(t.Context(), lease(t), client.RawPatch(types.MergePatchType, theft)))
	framework.Eventually(t, patience, "the replica has lost the lease", func() error {
		if !strings.Contains(r.Text()[before:], "leader election lost") {
			return errors.New("it leads")
		}
		return nil
	})
	took = w.edit("s")()
	figures.add(t, "lease stolen by one that does not renew it: an edit made when the leader has noticed takes effect after", "12 s", seconds(took))
	within(t, "an edit after the lease was stolen", took, 12*time.Second)
	framework.Eventually(t, patience, "the operator leads again", func() error {
		if id := *lease(t).Spec.HolderIdentity; !strings.HasPrefix(id, "replica-") {
			return errors.New(id)
		}
		return nil
	})
	w.waitReady("s")
	o.sameProcesses(t)
}
