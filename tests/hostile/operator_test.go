// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const (
	operatorNamespace  = "llama-stack-k8s-operator-system"
	operatorDeployment = "llama-stack-k8s-operator-controller-manager"
	webhookService     = "llama-stack-k8s-operator-webhook-service"
	healthAddress      = "127.0.0.1:8081"
)

// operator is the operator's program with the arguments, the environment and the memory limit of the released manifest.
type operator struct {
	arguments, environment []string
	group                  *memoryGroup
	log                    *os.File
	webhook                string // where the API server finds the webhooks
	starts                 int    // how often it was started
	cmd                    *exec.Cmd
	done                   chan struct{}
	err                    error
}

// newOperator starts it, with further arguments, and waits until it is ready.
func newOperator(t *testing.T, admin client.Client, arguments ...string) *operator {
	t.Helper()
	binary := os.Getenv("LLSD_OPERATOR")
	if binary == "" {
		t.Fatal(`LLSD_OPERATOR does not name the operator's program: run these tests by "make test-hostile"`)
	}
	deployment := &appsv1.Deployment{}
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: operatorDeployment}, deployment); err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{}
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: webhookService}, service); err != nil {
		t.Fatal(err)
	}
	account := deployment.Spec.Template.Spec.ServiceAccountName
	if _, err := cluster.ServiceAccountConfig(operatorNamespace, account); err != nil {
		t.Fatal(err)
	}
	container := deployment.Spec.Template.Spec.Containers[0]
	log, err := os.Create(filepath.Join(t.TempDir(), "operator.log"))
	framework.NoError(t, err)
	o := &operator{
		group: newMemoryGroup(t, container.Resources.Limits.Memory().Value()), log: log, webhook: service.Spec.ClusterIP + ":443",
		environment: []string{"KUBECONFIG=" + filepath.Join(cluster.Dir, operatorNamespace+"."+account+".kubeconfig")},
	}
	o.arguments = append([]string{"-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(o.group.dir, "cgroup.procs"), binary}, container.Args...)
	o.arguments = append(o.arguments, "--health-probe-bind-address="+healthAddress, "--webhook-bind-address=:443") // the port of the Service
	o.arguments = append(o.arguments, arguments...)
	for _, variable := range container.Env {
		value := variable.Value
		if from := variable.ValueFrom; from != nil && from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.namespace" {
			value = operatorNamespace
		}
		o.environment = append(o.environment, variable.Name+"="+value)
	}
	t.Cleanup(func() {
		o.stop()
		if t.Failed() {
			t.Logf("the operator printed last:\n%s", o.lastWords())
		}
		_ = log.Close()
	})
	o.start(t)
	return o
}

// start starts it once more and waits until it is ready.
func (o *operator) start(t *testing.T) {
	t.Helper()
	o.starts++
	o.done = make(chan struct{})
	o.cmd = exec.CommandContext(context.Background(), "/bin/sh", o.arguments...)
	o.cmd.Env, o.cmd.Stdout, o.cmd.Stderr = o.environment, o.log, o.log
	o.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // also when this program is ended in between
	framework.NoError(t, o.cmd.Start())
	go func() {
		defer close(o.done)
		o.err = o.cmd.Wait()
	}()
	framework.Eventually(t, time.Minute, "the operator is ready", o.ready)
}

func (o *operator) stop() {
	_ = o.cmd.Process.Kill()
	<-o.done
}

// lastWords is the end of the log, and where a panic begins.
func (o *operator) lastWords() string {
	text, err := os.ReadFile(o.log.Name())
	if err != nil {
		return err.Error()
	}
	if at := regexp.MustCompile(`(?m)^(panic|fatal error|runtime): `).FindIndex(text); at != nil {
		return string(text[at[0]:min(len(text), at[0]+3000)])
	}
	return string(text[max(0, len(text)-3000):])
}

// alive reports whether the process that was started last still runs.
func (o *operator) alive() error {
	if _, err := o.usage(); err == nil {
		return nil
	}
	<-o.done // a process without memory is about to be gone
	return fmt.Errorf("the operator ended: %w", errors.Join(o.err, errors.New(o.cmd.ProcessState.String())))
}

func (o *operator) ended() bool { return o.alive() != nil }

func (o *operator) ready() error {
	if err := o.alive(); err != nil {
		return err
	}
	return framework.ProbeReadiness(healthAddress)
}

// usage is what the process has used.
type usage struct {
	cpu time.Duration
	// resident is bytes of memory, and peak the most since resetPeak.
	resident, peak int64
}

func (o *operator) usage() (usage, error) {
	proc := "/proc/" + strconv.Itoa(o.cmd.Process.Pid)
	cpu, err1 := framework.CPUTimeOf(o.cmd.Process.Pid)
	status, err2 := os.ReadFile(filepath.Join(proc, "status"))
	if err := errors.Join(err1, err2); err != nil {
		return usage{}, err
	}
	u := usage{cpu: cpu}
	for line := range strings.Lines(string(status)) {
		for name, into := range map[string]*int64{"VmHWM:": &u.peak, "VmRSS:": &u.resident} {
			if rest, ok := strings.CutPrefix(line, name); ok {
				kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
				if err != nil {
					return u, err
				}
				*into = kib << 10
			}
		}
	}
	if u.peak == 0 {
		return u, errors.New("the process has ended")
	}
	return u, nil
}

// resetPeak lets the peak begin anew at what is resident now.
func (o *operator) resetPeak() {
	_ = os.WriteFile("/proc/"+strconv.Itoa(o.cmd.Process.Pid)+"/clear_refs", []byte("5"), 0o200)
}
