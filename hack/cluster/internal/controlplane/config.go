// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/pki"
)

// AdminKubeconfig is the administrator's kubeconfig in the cluster's directory.
const AdminKubeconfig = "kubeconfig"

// Config has the values from which the control plane's command lines and files derive.
type Config struct {
	Root     string       // the cluster's directory as its processes see it
	Bin      string       // the programs' directory as the processes see it
	Address  netip.Addr   // the API server's address
	APIPort  uint16       // the API server's port
	EtcdPort uint16       // on loopback, for clients
	PeerPort uint16       // on loopback, for etcd's peers: unused, but always open
	Services netip.Prefix // range of Service addresses
	// KubeletClient is the name of the API server's client certificate for kubelets, empty without kubelets.
	KubeletClient string
	// Certificates and Users are further identities signed by the cluster's CA: certificate files in "pki", and the users
	// of kubeconfig files by file name.
	Certificates []Certificate
	Users        map[string]pki.Subject
}

// Certificate is a certificate in a file.
type Certificate struct {
	File string
	pki.Subject
}

// Path returns the path of a file of the cluster as its processes see it.
func (c Config) Path(elements ...string) string {
	return filepath.Join(append([]string{c.Root}, elements...)...)
}

// Server returns the URL of the API server.
func (c Config) Server() string {
	return "https://" + netip.AddrPortFrom(c.Address, c.APIPort).String()
}

// EtcdURL returns the URL of etcd for clients.
func (c Config) EtcdURL() string { return fmt.Sprintf("https://127.0.0.1:%d", c.EtcdPort) }

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// Local chooses free loopback ports for a control plane under dir that runs on this machine.
func Local(dir, bin string) (Config, error) {
	ports, err := freePorts(3)
	if err != nil {
		return Config{}, err
	}
	return Config{
		Root: dir, Bin: bin, Address: loopback,
		APIPort: ports[0], EtcdPort: ports[1], PeerPort: ports[2],
		// Nothing routes to Services here. Loopback addresses refuse a webhook's connection at once; others could leave
		// the machine, and each write would wait for an answer.
		Services: netip.MustParsePrefix("127.96.0.0/16"),
	}, nil
}

func freePorts(n int) ([]uint16, error) {
	var ports []uint16
	for range n {
		l, err := net.Listen("tcp", net.JoinHostPort(loopback.String(), "0"))
		if err != nil {
			return nil, fmt.Errorf("finding a free port: %w", err)
		}
		// Listeners stay open until all ports are found, so that the ports differ.
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
