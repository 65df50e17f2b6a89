// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostile

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// operator is the operator's program with the arguments, environment and memory limit of the released manifest.
type operator struct {
	*framework.Process
	t       *testing.T
	options framework.ProcessOptions
	group   *memoryGroup
	webhook string // the address of the webhooks for the API server
	starts  int    // number of starts
}

// newOperator starts the operator with further arguments, and waits until it is ready.
func newOperator(t *testing.T, n *framework.Namespace, arguments ...string) *operator {
	t.Helper()
	deployment, service := n.Deployment(framework.OperatorName), &corev1.Service{}
	framework.NoError(t, n.Get(service, framework.WebhookService))
	kubeconfig, err := cluster.OperatorKubeconfig()
	framework.NoError(t, err)
	container := &deployment.Spec.Template.Spec.Containers[0]
	group := newMemoryGroup(t, container.Resources.Limits.Memory().Value())
	o := &operator{t: t, group: group, webhook: service.Spec.ClusterIP + ":443", options: framework.ContainerOptions(container, "")}
	o.options.Wrapper = []string{"/bin/sh", "-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(group.dir, "cgroup.procs")}
	o.options.Kubeconfig, o.options.Webhook = kubeconfig, ":443" // the port of the Service
	o.options.Log = filepath.Join(t.TempDir(), "operator.log")
	o.options.Args = append(o.options.Args, arguments...)
	o.start()
	return o
}

// start starts the operator again, until the test of newOperator ends, and waits until it is ready.
func (o *operator) start() {
	o.starts++
	o.Process = framework.StartProcess(o.t, o.options)
	o.WaitReady(o.t)
}

// alive returns an error if the process has ended, or is exiting and has lost its memory.
func (o *operator) alive() error {
	if _, err := o.usage(); err == nil {
		return nil
	}
	<-o.Ended
	return o.Alive()
}

func (o *operator) ended() bool { return o.alive() != nil }

type usage struct {
	cpu time.Duration
	// resident and peak are bytes of memory; peak is the maximum since resetPeak.
	resident, peak int64
}

func (o *operator) usage() (usage, error) {
	cpu, err1 := framework.CPUTimeOf(o.PID())
	resident, peak, err2 := framework.MemoryOf(o.PID())
	return usage{cpu: cpu, resident: resident, peak: peak}, errors.Join(err1, err2)
}

func (o *operator) resetPeak() {
	_ = os.WriteFile("/proc/"+strconv.Itoa(o.PID())+"/clear_refs", []byte("5"), 0o200)
}
