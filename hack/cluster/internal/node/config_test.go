// SPDX-License-Identifier: Apache-2.0

package node

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/addresses"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/apiclient"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/controlplane"
)

func TestIdentitiesOfANode(t *testing.T) {
	c := newConfig(planOf(t, 3))
	c.Root = t.TempDir()
	if err := c.WriteIdentities(); err != nil {
		t.Fatal(err)
	}
	verify := func(ca, leaf, name string) error {
		roots := x509.NewCertPool()
		data, err := os.ReadFile(c.Path("pki", ca+".crt"))
		if err != nil {
			t.Fatal(err)
		}
		roots.AppendCertsFromPEM(data)
		if data, err = os.ReadFile(c.Path("pki", leaf+".crt")); err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(data)
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		_, err = cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: name})
		return err
	}
	for _, name := range []string{"172.30.3.1", "127.0.0.1", "10.96.48.1", "kubernetes.default.svc"} {
		if err := verify("ca", "kube-apiserver", name); err != nil {
			t.Errorf("the API server as %s: %v", name, err)
		}
	}
	if err := verify("ca", "kubelet", "172.30.3.1"); err != nil {
		t.Errorf("kubelet: %v", err)
	}
	if err := verify("etcd-ca", "kube-apiserver", ""); err == nil {
		t.Error("a certificate of the cluster opens the store")
	}
	for _, file := range slices.Concat(slices.Collect(maps.Keys(c.Users)), []string{controlplane.AdminKubeconfig, "kube-controller-manager.kubeconfig"}) {
		info, err := os.Stat(c.Path(file))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %o, want 600", file, info.Mode().Perm())
		}
		server, _, _, err := apiclient.ReadKubeconfig(c.Path(file))
		if err != nil || server != "https://172.30.3.1:6443" {
			t.Errorf("%s: server %q, %v", file, server, err)
		}
	}
}

func TestNodeFilesUseOnlyTheNodesPaths(t *testing.T) {
	c := newConfig(planOf(t, 3))
	kubelet, err := c.kubeletConfig()
	if err != nil {
		t.Fatal(err)
	}
	network, err := c.cniConfig()
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := c.proxyConfig()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		data []byte
		text string
	}{
		"kubelet":    {kubelet, `"cgroupRoot": "/llsd3"`},
		"CNI":        {network, `"subnet": "10.88.3.0/24"`},
		"kube-proxy": {proxy, `"mode": "nftables"`},
	} {
		if !json.Valid(want.data) || !strings.Contains(string(want.data), want.text) {
			t.Errorf("%s: no %q in\n%s", name, want.text, want.data)
		}
	}
	if got := string(c.corefile()); !strings.Contains(got, "bind 172.30.3.1\n") {
		t.Errorf("Corefile:\n%s", got)
	}
}

func planOf(t *testing.T, index int) addresses.Plan {
	t.Helper()
	plan, err := addresses.NewPlan(index)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}
