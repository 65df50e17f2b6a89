// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"

	"go.yaml.in/yaml/v3"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
)

// Where the certificate of spec.networking.tls lies in the container. It is a directory of its own: that of the configuration is a
// mounted ConfigMap, in which nothing else can be mounted.
const (
	TLSDir      = "/etc/llama-stack-tls"
	TLSCertFile = TLSDir + "/tls.crt"
	TLSKeyFile  = TLSDir + "/tls.key"
)

// The ports that the server accepts.
const (
	minPort int32 = 1024
	maxPort int32 = 65535
)

// allAddresses is the address on which one socket takes connections by IPv4 and by IPv6. Releases that choose an address for several
// workers by themselves choose this one.
const allAddresses = "::"

// applyServer sets what the resource says about the server itself.
func (g *generation) applyServer() {
	port := v1alpha2.DefaultPort
	if n := g.Spec.Networking; n != nil && n.Port != nil {
		port = *n.Port
	}
	if port < minPort || port > maxPort {
		g.findings.fail(InvalidSpec, "spec.networking.port", fmt.Sprintf("Invalid value: the server refuses ports outside of %d to %d", minPort, maxPort),
			fmt.Sprintf("choose a port in this range, or remove the field for %d", v1alpha2.DefaultPort))
		return
	}
	server := document.Ensure(g.doc.Root(), "server", yaml.MappingNode)
	document.Set(server, "port", document.Int(int64(port)))
	g.applyWorkers(server)
	g.applyTLS(server)
}

// applyWorkers sets the number of workers, and an address where several workers cannot do without.
func (g *generation) applyWorkers(server *yaml.Node) {
	w := g.Spec.Workload
	if w == nil || w.Workers == nil {
		return
	}
	document.Set(server, "workers", document.Int(int64(*w.Workers)))
	if *w.Workers > 1 && g.Line.HostForWorkers && document.Text(document.Child(server, "host")) == "" {
		document.Set(server, "host", document.String(allAddresses))
	}
}

// applyTLS lets the server encrypt, or says where it has to know that it does not.
func (g *generation) applyTLS(server *yaml.Node) {
	if tlsEnabled(g.Spec) {
		document.Set(server, "tls_certfile", document.String(TLSCertFile))
		document.Set(server, "tls_keyfile", document.String(TLSKeyFile))
		document.Drop(server, "insecure")
		return
	}
	if g.Line.NeedsInsecure && (document.Text(document.Child(server, "tls_certfile")) == "" || document.Text(document.Child(server, "tls_keyfile")) == "") {
		document.Set(server, "insecure", document.Bool(true))
	}
}

func tlsEnabled(s *spec) bool {
	return s.Networking != nil && s.Networking.TLS != nil && ptr.Deref(s.Networking.TLS.Enabled, false)
}
