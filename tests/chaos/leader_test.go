// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const (
	failOverGoal = 10 * time.Second
	outageGoal   = 20 * time.Second
	handOverGoal = 3 * time.Second
	editGoal     = 5 * time.Second
	startGoal    = 2 * time.Second
)

// A starting operator reconciles within two seconds: it restores a Deployment that was deleted while it was stopped.
func TestOperatorStarts(t *testing.T) {
	w, o, r := startedWorld(t, kubeconfig)
	took := make([]time.Duration, rounds())
	for i := range took {
		r.Terminate(t)
		deployment, err := w.deployment("s")
		if err == nil {
			err = admin.Delete(t.Context(), deployment)
		}
		framework.NoError(t, err)
		w.gone(deployment)
		r = o.launch(t)
		framework.Eventually(t, patience, "the Deployment is back", func() error { _, err := w.deployment("s"); return errors.Join(err, r.Alive()) })
		took[i] = time.Since(r.Began)
	}
	figures.add(t, "operator starts: its first reconcile has created a Deployment after", "2 s", seconds(slices.Max(took)))
	within(t, "start", slices.Max(took), startGoal)
}

// Proves: L-30, R71 (a leader that is killed is replaced within seconds, and one that stops releases the lease at
// once).
func TestLeaderIsReplaced(t *testing.T) {
	w, o, leader := startedWorld(t, kubeconfig)
	var died, ended time.Duration
	for range rounds() {
		standby := o.start(t)
		framework.Eventually(t, patience, "the standby waits", standby.Alive)
		leader.Kill()
		died = max(died, w.edit("s")())
		leader = standby
	}
	for range rounds() {
		standby := o.start(t)
		seen := make(chan struct{})
		go func() { defer close(seen); leader.Terminate(t) }()
		ended = max(ended, w.edit("s")())
		<-seen
		leader = standby
	}
	figures.add(t, "leader killed (SIGKILL), a standby waits: an edit takes effect after", "10 s", seconds(died))
	figures.add(t, "leader ends (SIGTERM): an edit made meanwhile takes effect after", "3 s", seconds(ended))
	within(t, "fail-over", died, failOverGoal)
	within(t, "hand-over", ended, handOverGoal)
}

func rounds() int {
	if full() {
		return 5
	}
	return 1
}
