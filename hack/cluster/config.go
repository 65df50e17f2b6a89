// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/addresses"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/kubeconfig"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/pki"
)

// Files of a cluster's directory that processes and callers use.
const (
	adminKubeconfig      = "kubeconfig"
	controllerKubeconfig = "kube-controller-manager.kubeconfig"
	schedulerKubeconfig  = "kube-scheduler.kubeconfig"
	kubeletKubeconfig    = "kubelet.kubeconfig"
	proxyKubeconfig      = "kube-proxy.kubeconfig"
	dnsKubeconfig        = "coredns.kubeconfig"
)

// config is everything that the command lines and files of a cluster's processes
// derive from.
type config struct {
	root     string          // the cluster's directory as its processes see it
	bin      string          // the programs' directory as the processes see it
	address  netip.Addr      // where the API server listens
	apiPort  uint16          // likewise
	etcdPort uint16          // on loopback, for clients
	peerPort uint16          // on loopback, for etcd's peers: never used, always open
	services netip.Prefix    // range of Service addresses
	node     *addresses.Plan // addresses of the node tier; nil on the control plane tier
}

func (c config) path(elements ...string) string {
	return filepath.Join(append([]string{c.root}, elements...)...)
}

func (c config) server() string {
	return "https://" + netip.AddrPortFrom(c.address, c.apiPort).String()
}

func (c config) etcdURL() string { return fmt.Sprintf("https://127.0.0.1:%d", c.etcdPort) }

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// controlPlaneConfig chooses free loopback ports for a control plane under dir.
func controlPlaneConfig(dir, bin string) (config, error) {
	ports, err := freePorts(3)
	if err != nil {
		return config{}, err
	}
	return config{
		root: dir, bin: bin, address: loopback,
		apiPort: ports[0], etcdPort: ports[1], peerPort: ports[2],
		services: netip.MustParsePrefix("10.96.0.0/20"),
	}, nil
}

// freePorts returns n loopback ports that nothing listens on right now.
func freePorts(n int) ([]uint16, error) {
	var ports []uint16
	for range n {
		l, err := net.Listen("tcp", net.JoinHostPort(loopback.String(), "0"))
		if err != nil {
			return nil, fmt.Errorf("finding a free port: %w", err)
		}
		// Kept open until all are found, so that no port is found twice.
		defer func() { _ = l.Close() }() //nolint:gocritic // on purpose, see above
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			return nil, err
		}
		number, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return nil, err
		}
		ports = append(ports, uint16(number))
	}
	return ports, nil
}

// writeIdentities issues every certificate and kubeconfig of the control plane,
// and of the node if there is one. etcd trusts a CA certificate of its own: nothing
// that the cluster signs opens its store.
func (c config) writeIdentities() error {
	dir := c.path("pki")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	ca, err := pki.NewAuthority("kubernetes-ca")
	if err != nil {
		return err
	}
	etcdCA, err := pki.NewAuthority("etcd-ca")
	if err != nil {
		return err
	}
	tokens, err := pki.NewTokenKey()
	if err != nil {
		return err
	}
	for name, pair := range map[string]pki.KeyPair{"ca": ca.KeyPair, "etcd-ca": etcdCA.KeyPair, "service-account": tokens} {
		if err := pair.Write(dir, name); err != nil {
			return err
		}
	}
	for _, leaf := range c.leaves(ca, etcdCA) {
		pair, err := leaf.by.Issue(leaf.Subject)
		if err != nil {
			return err
		}
		if err := pair.Write(dir, leaf.file); err != nil {
			return err
		}
	}
	for file, who := range c.users() {
		if err := kubeconfig.Write(c.root, file, c.server(), ca, who); err != nil {
			return err
		}
	}
	return nil
}

// leaf is a certificate that is used from files.
type leaf struct {
	file string
	by   *pki.Authority
	pki.Subject
}

func (c config) leaves(ca, etcdCA *pki.Authority) []leaf {
	first := c.services.Addr().Next() // the address of the Service "kubernetes"
	api := pki.Subject{
		CommonName: "kube-apiserver",
		DNS:        []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
		Addresses:  []netip.Addr{loopback, first, c.address},
	}
	list := []leaf{
		{"kube-apiserver", ca, api},
		{"etcd", etcdCA, pki.Subject{CommonName: "etcd", DNS: []string{"localhost"}, Addresses: []netip.Addr{loopback}}},
		{"etcd-client", etcdCA, pki.Subject{CommonName: "kube-apiserver"}},
		{webhookClientFile, ca, pki.Subject{CommonName: webhookClientUser}},
	}
	if c.node != nil {
		list = append(list,
			leaf{"kubelet-client", ca, pki.Subject{CommonName: kubeletClientUser}},
			leaf{"kubelet", ca, pki.Subject{CommonName: "system:node:" + nodeName, DNS: []string{nodeName}, Addresses: []netip.Addr{c.node.Node}}},
		)
	}
	return list
}

// users maps each kubeconfig file to the user that Kubernetes' own roles know.
func (c config) users() map[string]pki.Subject {
	users := map[string]pki.Subject{
		adminKubeconfig:      {CommonName: "admin", Organization: "system:masters"},
		controllerKubeconfig: {CommonName: "system:kube-controller-manager"},
	}
	if c.node != nil {
		users[schedulerKubeconfig] = pki.Subject{CommonName: "system:kube-scheduler"}
		users[kubeletKubeconfig] = pki.Subject{CommonName: "system:node:" + nodeName, Organization: "system:nodes"}
		users[proxyKubeconfig] = pki.Subject{CommonName: "system:kube-proxy"}
		users[dnsKubeconfig] = pki.Subject{CommonName: dnsUser}
	}
	return users
}
