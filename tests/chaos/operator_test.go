// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// operator has the replicas of the operator, and the Service of its webhooks.
type operator struct {
	container  *corev1.Container
	kubeconfig string
	service    *framework.Forwarder
	replicas   []*replica
	dir        string
}

type replica struct {
	*framework.Process
	name string
}

// newOperator prepares the operator, whose replicas reach the API server by the kubeconfig.
func newOperator(t *testing.T, kubeconfig string) *operator {
	t.Helper()
	deployment, service := &appsv1.Deployment{}, &corev1.Service{}
	for name, o := range map[string]client.Object{framework.OperatorName: deployment, framework.WebhookService: service} {
		framework.NoError(t, admin.Get(t.Context(), client.ObjectKey{Namespace: framework.OperatorNamespace, Name: name}, o))
	}
	o := &operator{
		container: &deployment.Spec.Template.Spec.Containers[0], kubeconfig: kubeconfig, dir: t.TempDir(),
		service: framework.StartForwarder(t, net.JoinHostPort(service.Spec.ClusterIP, "443")),
	}
	o.service.Failover = true // replicas are killed
	return o
}

// start starts a replica, and waits until it is ready.
func (o *operator) start(t *testing.T, arguments ...string) *replica {
	t.Helper()
	r := o.launch(t, arguments...)
	r.WaitReady(t)
	o.service.Add(r.Webhook)
	return r
}

func (o *operator) launch(t *testing.T, arguments ...string) *replica {
	t.Helper()
	name := fmt.Sprintf("replica-%d", len(o.replicas))
	options := framework.ContainerOptions(o.container, name)
	options.Kubeconfig, options.Log = o.kubeconfig, filepath.Join(o.dir, name+".log")
	options.Args = append(append(options.Args, "--metrics-bind-address=0", "--operator-image=quay.io/a/operator:1"), arguments...)
	r := &replica{framework.StartProcess(t, options), name}
	o.replicas = append(o.replicas, r)
	return r
}

// startedWorld returns a world with a Ready custom resource s, and an operator with one replica.
func startedWorld(t *testing.T, kubeconfig string) (*world, *operator, *replica) {
	t.Helper()
	w, o := newWorld(t), newOperator(t, kubeconfig)
	r := o.start(t)
	w.create("s")
	w.waitReady("s")
	return w, o, r
}

func (r *replica) leads(t *testing.T) {
	t.Helper()
	framework.Eventually(t, 2*time.Minute, r.name+" leads", func() error {
		l, err := readLease(t)
		if err == nil && !strings.HasPrefix(ptr.Deref(l.Spec.HolderIdentity, ""), r.name+"_") {
			err = fmt.Errorf("the lease has %+v", l.Spec)
		}
		return errors.Join(err, r.Alive())
	})
}

func (o *operator) sameProcesses(t *testing.T) (ended int) {
	t.Helper()
	for _, r := range o.replicas {
		if err := r.Alive(); err != nil {
			t.Error(err)
			ended++
		}
	}
	return ended
}

// through returns the operator's kubeconfig for another address, whose certificate the CA has signed; a nil CA means
// the API server's own.
func through(t *testing.T, address string, ca []byte) string {
	t.Helper()
	file, _ := framework.KubeconfigVia(t, kubeconfig, address, ca)
	return file
}

func apiServerAddress(t *testing.T) string {
	t.Helper()
	config, err := cluster.AdminConfig()
	framework.NoError(t, err)
	return strings.TrimPrefix(config.Host, "https://")
}
