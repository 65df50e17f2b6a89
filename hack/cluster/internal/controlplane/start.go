// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/apiclient"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/process"
)

func (c Config) etcdArgs() []string {
	peer := fmt.Sprintf("https://127.0.0.1:%d", c.PeerPort)
	return []string{
		"--name=etcd", "--data-dir=" + c.Path("etcd"),
		"--listen-client-urls=" + c.EtcdURL(), "--advertise-client-urls=" + c.EtcdURL(),
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=etcd=" + peer,
		"--client-cert-auth", "--trusted-ca-file=" + c.Path("pki/etcd-ca.crt"),
		"--cert-file=" + c.Path("pki/etcd.crt"), "--key-file=" + c.Path("pki/etcd.key"),
		"--peer-client-cert-auth", "--peer-trusted-ca-file=" + c.Path("pki/etcd-ca.crt"),
		"--peer-cert-file=" + c.Path("pki/etcd.crt"), "--peer-key-file=" + c.Path("pki/etcd.key"),
		"--unsafe-no-fsync", // the data is deleted with the cluster
	}
}

func (c Config) apiServerArgs() []string {
	args := []string{
		"--etcd-servers=" + c.EtcdURL(), "--etcd-cafile=" + c.Path("pki/etcd-ca.crt"),
		"--etcd-certfile=" + c.Path("pki/etcd-client.crt"), "--etcd-keyfile=" + c.Path("pki/etcd-client.key"),
		"--bind-address=" + c.Address.String(), fmt.Sprintf("--secure-port=%d", c.APIPort),
		"--advertise-address=" + c.Address.String(),
		"--tls-cert-file=" + c.Path("pki/kube-apiserver.crt"), "--tls-private-key-file=" + c.Path("pki/kube-apiserver.key"),
		"--client-ca-file=" + c.Path("pki/ca.crt"),
		"--service-account-key-file=" + c.Path("pki/service-account.crt"),
		"--service-account-signing-key-file=" + c.Path("pki/service-account.key"),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-cluster-ip-range=" + c.Services.String(),
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
		"--admission-control-config-file=" + c.Path(webhookConfigFile),
	}
	args = append(args, c.auditArgs()...)
	if c.KubeletClient == "" {
		// The endpoint of the Service "kubernetes" must not be a loopback address, and no other is reachable here.
		return append(args, "--endpoint-reconciler-type=none")
	}
	return append(args,
		// DNS outside the cluster does not know the node's name.
		"--kubelet-preferred-address-types=InternalIP",
		"--kubelet-certificate-authority="+c.Path("pki/ca.crt"),
		"--kubelet-client-certificate="+c.Path("pki", c.KubeletClient+".crt"), "--kubelet-client-key="+c.Path("pki", c.KubeletClient+".key"),
	)
}

func (c Config) controllerManagerArgs() []string {
	return []string{
		"--kubeconfig=" + c.Path(controllerKubeconfig), "--secure-port=0", "--leader-elect=false",
		"--use-service-account-credentials=true",
		// Each controller requests a token at the start, which takes seconds with the default limit of 20 requests a second.
		"--kube-api-qps=500", "--kube-api-burst=500",
		"--service-account-private-key-file=" + c.Path("pki/service-account.key"), "--root-ca-file=" + c.Path("pki/ca.crt"),
		"--cluster-signing-cert-file=" + c.Path("pki/ca.crt"), "--cluster-signing-key-file=" + c.Path("pki/ca.key"),
	}
}

// raiseGCThreshold makes Go's garbage collector run less often. Collection takes a sixth of the processes' CPU time in a test
// cluster.
func raiseGCThreshold(cmd *exec.Cmd) {
	cmd.Env = append(cmd.Environ(), "GOGC=300")
}

// StartControlPlane starts etcd, the API server and the controller manager and waits until the API server is ready and
// creates ServiceAccounts for namespaces. It passes each process to started as soon as it runs.
func (c Config) StartControlPlane(ctx context.Context, progress io.Writer, started func(*process.Process) error) (*apiclient.Client, error) {
	if err := os.MkdirAll(c.Path("log"), 0o700); err != nil {
		return nil, err
	}
	if err := c.WriteIdentities(); err != nil {
		return nil, err
	}
	if err := errors.Join(c.writeAuditPolicy(), c.writeWebhookConfig()); err != nil {
		return nil, err
	}
	etcdAPI, err := apiclient.New(c.EtcdURL(), c.Path("pki"), "etcd-ca", "etcd-client")
	if err != nil {
		return nil, err
	}
	api, err := apiclient.FromKubeconfig(c.Path(AdminKubeconfig))
	if err != nil {
		return nil, err
	}
	var running []*process.Process
	for _, step := range []struct {
		name  string
		args  []string
		ready func(context.Context) error
	}{
		{"etcd", c.etcdArgs(), func(ctx context.Context) error { return etcdAPI.Get(ctx, "/health", nil) }},
		{"kube-apiserver", c.apiServerArgs(), func(ctx context.Context) error { return api.Get(ctx, "/readyz", nil) }},
		{"kube-controller-manager", c.controllerManagerArgs(), func(ctx context.Context) error {
			return api.Get(ctx, "/api/v1/namespaces/default/serviceaccounts/default", nil)
		}},
	} {
		_, _ = fmt.Fprintf(progress, "starting %s\n", step.name)
		p, err := process.Launch(c.Root, step.name, raiseGCThreshold, filepath.Join(c.Bin, step.name), step.args...)
		if err != nil {
			return nil, err
		}
		running = append(running, p)
		if err := started(p); err != nil {
			return nil, err
		}
		if err := process.Until(ctx, step.name, running, step.ready); err != nil {
			return nil, err
		}
	}
	return api, nil
}

// RetryReason returns the reason if a start of the control plane may be retried, and "" otherwise: another program uses
// a chosen port, or a busy machine exceeded the minute that kube-apiserver allows for its start.
func RetryReason(err error) (reason string) {
	var ended *process.EndedError
	if !errors.As(err, &ended) {
		return ""
	}
	switch log := process.LogTail(ended.Log); {
	case strings.Contains(log, "address already in use"):
		return "another program uses a chosen port; retrying with other ports"
	case strings.Contains(log, "PostStartHook") && strings.Contains(log, "failed"):
		return "kube-apiserver did not start in time; retrying"
	}
	return ""
}
