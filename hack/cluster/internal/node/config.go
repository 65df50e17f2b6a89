// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/addresses"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/controlplane"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/files"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/kubeconfig"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/pki"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/registry"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/sandbox"
)

const (
	nodeName = "node"

	pauseImage   = "localhost/pause:1"
	storageClass = "standard"

	// Users without a built-in role.
	kubeletClientUser = "kube-apiserver-kubelet-client"
	dnsUser           = "system:coredns"

	dnsReadyPort = 8181
	proxyHealth  = "127.0.0.1:10256"
)

// Files in the cluster's directory that the node's processes use.
const (
	schedulerKubeconfig = "kube-scheduler.kubeconfig"
	kubeletKubeconfig   = "kubelet.kubeconfig"
	proxyKubeconfig     = "kube-proxy.kubeconfig"
	dnsKubeconfig       = "coredns.kubeconfig"
)

// config is the control plane's configuration and the addresses of the node.
type config struct {
	controlplane.Config
	plan addresses.Plan
}

// newConfig returns the configuration of a node-tier cluster as its processes see it. Its ports are fixed, because the
// cluster has its own network namespace.
func newConfig(plan addresses.Plan) config {
	return config{plan: plan, Config: controlplane.Config{
		Root: sandbox.Root, Bin: filepath.Join(sandbox.Root, "bin"), Address: plan.Node,
		APIPort: 6443, EtcdPort: 2379, PeerPort: 2380,
		Services: plan.Services, KubeletClient: "kubelet-client",
		Certificates: []controlplane.Certificate{
			{File: "kubelet-client", Subject: pki.Subject{CommonName: kubeletClientUser}},
			{File: "kubelet", Subject: pki.Subject{CommonName: "system:node:" + nodeName, DNS: []string{nodeName}, Addresses: []netip.Addr{plan.Node}}},
		},
		Users: map[string]pki.Subject{
			schedulerKubeconfig: {CommonName: "system:kube-scheduler"},
			kubeletKubeconfig:   {CommonName: "system:node:" + nodeName, Organization: "system:nodes"},
			proxyKubeconfig:     {CommonName: "system:kube-proxy"},
			dnsKubeconfig:       {CommonName: dnsUser},
		},
	}}
}

// writeNodeFiles writes the configuration of the node's programs. cniBin is the directory of the CNI plugins.
func (c config) writeNodeFiles(cniBin string) error {
	kubelet, err := c.kubeletConfig()
	if err != nil {
		return err
	}
	proxy, err := c.proxyConfig()
	if err != nil {
		return err
	}
	network, err := c.cniConfig()
	if err != nil {
		return err
	}
	address := c.plan.Registry()
	for name, data := range map[string][]byte{
		"containerd.toml":     c.containerdConfig(cniBin),
		"cni/10-ptp.conflist": network,
		"kubelet.json":        kubelet,
		"kube-proxy.json":     proxy,
		"Corefile":            c.corefile(),
		"resolv.conf":         fmt.Appendf(nil, "nameserver %s\n", c.plan.Node),
		"certs.d/" + address + "/hosts.toml": fmt.Appendf(nil,
			"server = \"http://%[1]s\"\n\n[host.\"http://%[1]s\"]\n  capabilities = [\"pull\", \"resolve\"]\n", address),
	} {
		file := c.Path(name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (c config) containerdConfig(cniBin string) []byte {
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, `version = 2

[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd/opt"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  # A guest may lack the right to lower it; runc then fails with an obscure message.
  restrict_oom_score_adj = true
  # Loading a profile would change the machine.
  disable_apparmor = true

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q

  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = %q

  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
`, pauseImage, cniBin, c.Path("cni"), c.Path("certs.d"))
	return []byte(b.String())
}

// cniConfig gives every pod its own link to the node, so that all traffic between pods is routed and replies through a
// Service pass the address translation. On a bridge, that would need another kernel module.
func (c config) cniConfig() ([]byte, error) {
	return files.JSON(map[string]any{
		"cniVersion": "0.4.0", // the newest that the oldest distributions' plugins support
		"name":       c.plan.Link,
		"plugins": []any{map[string]any{
			"type": "ptp",
			"ipam": map[string]any{
				"type": "host-local", "subnet": c.plan.Pods.String(),
				"routes": []any{map[string]string{"dst": "0.0.0.0/0"}},
			},
		}},
	})
}

func (c config) kubeletConfig() ([]byte, error) {
	return files.JSON(map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1",
		"kind":       "KubeletConfiguration",
		"authentication": map[string]any{
			"anonymous": map[string]any{"enabled": false},
			"webhook":   map[string]any{"enabled": true},
			"x509":      map[string]any{"clientCAFile": c.Path("pki/ca.crt")},
		},
		"authorization":            map[string]any{"mode": "Webhook"},
		"containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
		"clusterDNS":               []string{c.plan.Node.String()},
		"clusterDomain":            "cluster.local",
		"resolvConf":               c.Path("resolv.conf"),
		"tlsCertFile":              c.Path("pki/kubelet.crt"),
		"tlsPrivateKeyFile":        c.Path("pki/kubelet.key"),
		// The node shares the machine, so it must not use all of its cgroups, swap or disk.
		"cgroupDriver":                "cgroupfs",
		"cgroupRoot":                  "/" + c.plan.Link,
		"enforceNodeAllocatable":      []string{},
		"failCgroupV1":                false,
		"failSwapOn":                  false,
		"imageGCHighThresholdPercent": 100,
		"evictionHard": map[string]string{
			"imagefs.available": "0%", "nodefs.available": "0%", "nodefs.inodesFree": "0%",
		},
	})
}

func (c config) proxyConfig() ([]byte, error) {
	return files.JSON(map[string]any{
		"apiVersion":         "kubeproxy.config.k8s.io/v1alpha1",
		"kind":               "KubeProxyConfiguration",
		"mode":               "nftables",
		"clientConnection":   map[string]any{"kubeconfig": c.Path(proxyKubeconfig)},
		"hostnameOverride":   nodeName,
		"clusterCIDR":        c.plan.Pods.String(),
		"healthzBindAddress": proxyHealth,
		// A network namespace cannot change the machine's limit.
		"conntrack": map[string]any{"maxPerCore": 0},
	})
}

func (c config) corefile() []byte {
	return fmt.Appendf(nil, `.:53 {
  bind %[1]s
  errors
  ready %[1]s:%[2]d
  kubernetes cluster.local in-addr.arpa {
    kubeconfig %[3]s %[4]s
    ttl 5
  }
  cache 5
}
`, c.plan.Node, dnsReadyPort, c.Path(dnsKubeconfig), kubeconfig.ContextName)
}

// nodePrograms returns the processes beside the control plane, in starting order.
func (c config) nodePrograms() []program {
	kube := func(name string, args ...string) program {
		return program{name: name, path: filepath.Join(c.Bin, name), args: args}
	}
	return []program{
		kube("kube-scheduler", "--kubeconfig="+c.Path(schedulerKubeconfig), "--secure-port=0", "--leader-elect=false"),
		kube("kubelet", "--config="+c.Path("kubelet.json"), "--kubeconfig="+c.Path(kubeletKubeconfig),
			"--hostname-override="+nodeName,
			"--node-ip="+c.plan.Node.String()), // kube-proxy waits forever for a node on loopback
		kube("kube-proxy", "--config="+c.Path("kube-proxy.json")),
		kube("coredns", "-conf", c.Path("Corefile")),
		{name: "registry", path: selfProgram, args: []string{registry.Command, c.plan.Registry(), c.Path("registry")}},
	}
}

type program struct {
	name string
	path string
	args []string
}

const selfProgram = "/proc/self/exe"
