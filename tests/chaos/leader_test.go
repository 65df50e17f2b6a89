// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

const (
	failOverGoal = 6 * time.Second
	handOverGoal = 3 * time.Second
	editGoal     = 5 * time.Second
)

// Proves: L-30, R71 (a leader that dies is replaced within seconds, and one that ends hands over at once).
func TestLeaderIsReplaced(t *testing.T) {
	w := newWorld(t)
	o := newOperator(t, direct())
	leader := o.start(t)
	w.create("s")
	w.waitReady("s")
	var died, ended time.Duration
	for range rounds() {
		standby := o.start(t)
		fixture.Eventually(t, patience, "the standby waits", standby.alive)
		leader.kill()
		died = max(died, w.edit("s")())
		leader = standby
	}
	for range rounds() {
		standby := o.start(t)
		seen := make(chan struct{})
		go func() { defer close(seen); leader.end(t) }()
		ended = max(ended, w.edit("s")())
		<-seen
		leader = standby
	}
	figures.add(t, "leader killed (SIGKILL), a standby waits: an edit takes effect after", "6 s", seconds(died))
	figures.add(t, "leader ends (SIGTERM): an edit made meanwhile takes effect after", "3 s", seconds(ended))
	within(t, "fail-over", died, failOverGoal)
	within(t, "hand-over", ended, handOverGoal)
}

// rounds is how often a fault is repeated.
func rounds() int {
	if full() {
		return 5
	}
	return 1
}
