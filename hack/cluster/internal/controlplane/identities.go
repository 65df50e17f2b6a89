// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"maps"
	"net/netip"
	"os"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/kubeconfig"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/pki"
)

const controllerKubeconfig = "kube-controller-manager.kubeconfig"

// WriteIdentities issues all certificates and kubeconfigs of the control plane and of the configuration. etcd trusts a
// separate CA, so that no certificate signed by the cluster's CA gives access to it.
func (c Config) WriteIdentities() error {
	dir := c.Path("pki")
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
		pair, err := leaf.issuer.Issue(leaf.Subject)
		if err != nil {
			return err
		}
		if err := pair.Write(dir, leaf.File); err != nil {
			return err
		}
	}
	for file, subject := range c.allUsers() {
		if err := kubeconfig.Write(c.Root, file, c.Server(), ca, subject); err != nil {
			return err
		}
	}
	return nil
}

type leaf struct {
	issuer *pki.Authority
	Certificate
}

func (c Config) leaves(ca, etcdCA *pki.Authority) []leaf {
	first := c.Services.Addr().Next() // the address of the Service "kubernetes"
	api := pki.Subject{
		CommonName: "kube-apiserver",
		DNS:        []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
		Addresses:  []netip.Addr{loopback, first, c.Address},
	}
	list := []leaf{
		{ca, Certificate{"kube-apiserver", api}},
		{etcdCA, Certificate{"etcd", pki.Subject{CommonName: "etcd", DNS: []string{"localhost"}, Addresses: []netip.Addr{loopback}}}},
		{etcdCA, Certificate{"etcd-client", pki.Subject{CommonName: "kube-apiserver"}}},
		{ca, Certificate{webhookClientFile, pki.Subject{CommonName: webhookClientUser}}},
	}
	for _, further := range c.Certificates {
		list = append(list, leaf{ca, further})
	}
	return list
}

// allUsers maps each kubeconfig file to a user of Kubernetes' built-in roles or of the configuration.
func (c Config) allUsers() map[string]pki.Subject {
	users := map[string]pki.Subject{
		AdminKubeconfig:      {CommonName: "admin", Organization: "system:masters"},
		controllerKubeconfig: {CommonName: "system:kube-controller-manager"},
	}
	maps.Copy(users, c.Users)
	return users
}
