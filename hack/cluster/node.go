// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/addresses"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/files"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/kubeconfig"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/sandbox"
)

const (
	// nodeName is the name of the one node.
	nodeName = "node"

	pauseImage   = "localhost/pause:1"
	storageClass = "standard"

	// Users of Kubernetes that no built-in role is bound to.
	kubeletClientUser = "kube-apiserver-kubelet-client"
	dnsUser           = "system:coredns"

	dnsReadyPort = 8181
)

// nodeConfig is the configuration of a node-tier cluster as its processes see
// it; they have a network of their own, so that fixed ports never collide.
func nodeConfig(plan addresses.Plan) config {
	return config{
		root: sandbox.Root, bin: filepath.Join(sandbox.Root, "bin"), address: plan.Node,
		apiPort: 6443, etcdPort: 2379, peerPort: 2380,
		services: plan.Services, node: &plan,
	}
}

// writeNodeFiles renders the configuration of the node's programs. cniBin is the
// directory of the CNI plugins.
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
	registry := c.node.Registry()
	for name, data := range map[string][]byte{
		"containerd.toml":     c.containerdConfig(cniBin),
		"cni/10-ptp.conflist": network,
		"kubelet.json":        kubelet,
		"kube-proxy.json":     proxy,
		"Corefile":            c.corefile(),
		"resolv.conf":         fmt.Appendf(nil, "nameserver %s\n", c.node.Node),
		"certs.d/" + registry + "/hosts.toml": fmt.Appendf(nil,
			"server = \"http://%[1]s\"\n\n[host.\"http://%[1]s\"]\n  capabilities = [\"pull\", \"resolve\"]\n", registry),
	} {
		file := c.path(name)
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
`, pauseImage, cniBin, c.path("cni"), c.path("certs.d"))
	return []byte(b.String())
}

// cniConfig gives every pod a link of its own to the node. All traffic between
// pods is routed, so that a reply through a Service always passes the address
// translation; on a bridge it would not without a further kernel module.
func (c config) cniConfig() ([]byte, error) {
	return files.JSON(map[string]any{
		"cniVersion": "0.4.0", // what the oldest plugins still in distributions know
		"name":       c.node.Link,
		"plugins": []any{map[string]any{
			"type": "ptp",
			"ipam": map[string]any{
				"type": "host-local", "subnet": c.node.Pods.String(),
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
			"x509":      map[string]any{"clientCAFile": c.path("pki/ca.crt")},
		},
		"authorization":            map[string]any{"mode": "Webhook"},
		"containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
		"clusterDNS":               []string{c.node.Node.String()},
		"clusterDomain":            "cluster.local",
		"resolvConf":               c.path("resolv.conf"),
		"tlsCertFile":              c.path("pki/kubelet.crt"),
		"tlsPrivateKeyFile":        c.path("pki/kubelet.key"),
		// The node shares the machine: no use of all its cgroups, swap or disk.
		"cgroupDriver":                "cgroupfs",
		"cgroupRoot":                  "/" + c.node.Link,
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
		"clientConnection":   map[string]any{"kubeconfig": c.path(proxyKubeconfig)},
		"hostnameOverride":   nodeName,
		"clusterCIDR":        c.node.Pods.String(),
		"healthzBindAddress": netip.AddrPortFrom(loopback, 10256).String(),
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
`, c.node.Node, dnsReadyPort, c.path(dnsKubeconfig), kubeconfig.ContextName)
}

// nodePrograms are the processes beside the control plane, in starting order.
func (c config) nodePrograms() []program {
	kube := func(name string, args ...string) program {
		return program{name: name, path: filepath.Join(c.bin, name), args: args}
	}
	return []program{
		kube("kube-scheduler", "--kubeconfig="+c.path(schedulerKubeconfig), "--secure-port=0", "--leader-elect=false"),
		kube("kubelet", "--config="+c.path("kubelet.json"), "--kubeconfig="+c.path(kubeletKubeconfig),
			"--hostname-override="+nodeName,
			"--node-ip="+c.node.Node.String()), // kube-proxy waits forever for a node on loopback
		kube("kube-proxy", "--config="+c.path("kube-proxy.json")),
		kube("coredns", "-conf", c.path("Corefile")),
		{name: "registry", path: selfProgram, args: []string{registryCommand, c.node.Registry(), c.path("registry")}},
	}
}

// program is one command of a cluster.
type program struct {
	name string
	path string
	args []string
}

// selfProgram is this program, wherever its file is.
const selfProgram = "/proc/self/exe"
