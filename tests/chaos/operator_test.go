// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const (
	operatorNamespace  = "llama-stack-k8s-operator-system"
	operatorDeployment = "llama-stack-k8s-operator-controller-manager"
	operatorAccount    = operatorDeployment
	webhookService     = "llama-stack-k8s-operator-webhook-service"
	leaseName          = "54e06e98.llamastack.io"
)

// operator are the replicas of the operator, and the Service of its webhooks.
type operator struct {
	arguments, environment []string
	// binary is the operator's program; empty means the released one.
	binary     string
	kubeconfig string
	service    *framework.Forwarder
	replicas   []*replica
	dir        string
}

// replica is one process.
type replica struct {
	name, health, webhook string
	log                   string
	began                 time.Time
	cmd                   *exec.Cmd
	done                  chan struct{}
}

// newOperator prepares the operator. Its replicas find the API server where the kubeconfig says.
func newOperator(t *testing.T, kubeconfig string) *operator {
	t.Helper()
	deployment, service := &appsv1.Deployment{}, &corev1.Service{}
	for name, o := range map[string]client.Object{operatorDeployment: deployment, webhookService: service} {
		framework.NoError(t, admin.Get(t.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: name}, o))
	}
	container := deployment.Spec.Template.Spec.Containers[0]
	o := &operator{
		arguments: container.Args, kubeconfig: kubeconfig, dir: t.TempDir(), service: framework.StartForwarder(t, net.JoinHostPort(service.Spec.ClusterIP, "443")),
	}
	o.service.Failover = true // replicas are killed
	for _, variable := range container.Env {
		if variable.ValueFrom == nil {
			o.environment = append(o.environment, variable.Name+"="+variable.Value)
		}
	}
	return o
}

// start starts a replica, and waits until it is ready.
func (o *operator) start(t *testing.T, arguments ...string) *replica {
	t.Helper()
	r := o.launch(t, arguments...)
	framework.Eventually(t, 2*time.Minute, r.name+" is ready", func() error {
		return errors.Join(r.alive(), framework.ProbeReadiness(r.health))
	})
	o.service.Add(r.webhook)
	return r
}

// launch starts the process of a replica.
func (o *operator) launch(t *testing.T, arguments ...string) *replica {
	t.Helper()
	binary := cmp.Or(o.binary, os.Getenv("LLSD_OPERATOR"))
	if binary == "" {
		t.Fatal(`LLSD_OPERATOR does not name the operator's program: run these tests by "make test-chaos"`)
	}
	r := &replica{
		name:   fmt.Sprintf("replica-%d", len(o.replicas)),
		health: framework.FreeAddress(t), webhook: framework.FreeAddress(t), done: make(chan struct{}),
	}
	r.log = filepath.Join(o.dir, r.name+".log")
	log, err := os.Create(r.log)
	framework.NoError(t, err)
	defer func() { _ = log.Close() }()
	all := append(append([]string{}, o.arguments...), "--health-probe-bind-address="+r.health, "--webhook-bind-address="+r.webhook,
		"--metrics-bind-address=0", "--operator-image=quay.io/a/operator:1")
	r.cmd = exec.CommandContext(context.Background(), binary, append(all, arguments...)...)
	r.cmd.Env = append(append([]string{}, o.environment...), "KUBECONFIG="+o.kubeconfig, "POD_NAMESPACE="+operatorNamespace, "POD_NAME="+r.name)
	r.cmd.Stdout, r.cmd.Stderr = log, log
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	r.began = time.Now()
	framework.NoError(t, r.cmd.Start())
	o.replicas = append(o.replicas, r)
	go func() {
		defer close(r.done)
		_ = r.cmd.Wait()
	}()
	t.Cleanup(func() {
		r.kill()
		if t.Failed() {
			t.Logf("%s printed last:\n%s", r.name, r.lastWords())
		}
	})
	return r
}

// kill ends it at once.
func (r *replica) kill() {
	_ = r.cmd.Process.Kill()
	<-r.done
}

// end asks it to end, as a kubelet does, and waits.
func (r *replica) end(t *testing.T) {
	t.Helper()
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-r.done:
	case <-time.After(time.Minute):
		t.Error(r.name + " does not end")
	}
}

func (r *replica) alive() error {
	select {
	case <-r.done:
		return framework.Terminal(fmt.Errorf("%s ended: %s", r.name, r.cmd.ProcessState))
	default:
		return nil
	}
}

func (r *replica) text() string {
	text, err := os.ReadFile(r.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (r *replica) lastWords() string {
	text := r.text()
	return text[max(0, len(text)-6000):]
}

// leads waits until the replica has the lease.
func (r *replica) leads(t *testing.T) {
	t.Helper()
	framework.Eventually(t, 2*time.Minute, r.name+" leads", func() error {
		lease := &coordinationv1.Lease{}
		if err := admin.Get(t.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: leaseName}, lease); err != nil {
			return err
		}
		if id := lease.Spec.HolderIdentity; id == nil || !strings.HasPrefix(*id, r.name+"_") {
			return fmt.Errorf("the lease has %+v", lease.Spec)
		}
		return r.alive()
	})
}

// sameProcesses fails where a replica has ended.
func (o *operator) sameProcesses(t *testing.T) (ended int) {
	t.Helper()
	for _, r := range o.replicas {
		if err := r.alive(); err != nil {
			t.Error(err)
			ended++
		}
	}
	return ended
}

// direct is the kubeconfig with the operator's own permissions.
func direct() string {
	return filepath.Join(cluster.Dir, operatorNamespace+"."+operatorAccount+".kubeconfig")
}

// through is the same, by another address, whose certificate the CA has signed; without a CA it is the API server's own.
func through(t *testing.T, address string, ca []byte) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(direct())
	framework.NoError(t, err)
	for _, c := range config.Clusters {
		host, _, err := net.SplitHostPort(strings.TrimPrefix(c.Server, "https://"))
		framework.NoError(t, err)
		c.Server, c.TLSServerName = "https://"+address, host
		if ca != nil {
			c.CertificateAuthority, c.CertificateAuthorityData, c.TLSServerName = "", ca, "localhost"
		}
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	framework.NoError(t, clientcmd.WriteToFile(*config, file))
	return file
}

// apiServerAddress is where the API server listens.
func apiServerAddress(t *testing.T) string {
	t.Helper()
	config, err := cluster.AdminConfig()
	framework.NoError(t, err)
	return strings.TrimPrefix(config.Host, "https://")
}
