// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: L-30, R71 (no process ends while control plane components are down, and an edit right after takes effect
// within seconds).
func TestControlPlaneOutage(t *testing.T) {
	w := newWorld(t)
	o := newOperator(t, kubeconfig)
	o.start(t)
	o.start(t)
	w.create("s")
	w.waitReady("s")
	long := 8 * time.Second
	if full() {
		long = 2 * time.Minute
	}
	cases := []struct {
		name      string
		away      time.Duration
		take, put func(*testing.T, string)
		process   string
	}{
		{"API server killed", long, plane.kill, plane.start, apiServer},
		{"etcd killed", long / 2, plane.kill, plane.start, etcd},
		{"API server hangs", long, plane.freeze, plane.thaw, apiServer},
		{"etcd hangs", long / 2, plane.freeze, plane.thaw, etcd},
	}
	if !full() {
		cases = cases[:2]
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.take(t, c.process)
			framework.Consistently(t, c.away, "the processes run", func() error {
				for _, r := range o.replicas {
					if err := r.Alive(); err != nil {
						return err
					}
				}
				return nil
			})
			c.put(t, c.process)
			plane.ready(t)
			took := w.edit("s")()
			figures.add(t, c.name+" for "+c.away.String()+": an edit made when it is ready takes effect after", "20 s, 0 restarts", seconds(took))
			within(t, "an edit after "+c.name, took, outageGoal)
			w.waitReady("s")
		})
	}
	o.sameProcesses(t)
}
