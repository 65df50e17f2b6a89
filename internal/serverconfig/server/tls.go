// SPDX-License-Identifier: Apache-2.0

package server

import (
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

// The paths of the certificate of spec.networking.tls in the container. The directory is separate because the
// configuration is in a mounted ConfigMap, in which nothing else can be mounted.
const (
	TLSDir      = "/etc/llama-stack-tls"
	TLSCertFile = TLSDir + "/tls.crt"
	TLSKeyFile  = TLSDir + "/tls.key"
)

// Fields of section server for encryption.
const (
	certFileField = "tls_certfile"
	keyFileField  = "tls_keyfile"
	clientCAField = "tls_cafile"
	insecureField = "insecure"
)

// TLS describes the encryption in a configuration. Paths are empty if not set.
type TLS struct {
	// CertificateFile and KeyFile are the server's certificate and key; it needs both for TLS.
	CertificateFile, KeyFile string
	// ClientCAFile is the CA of client certificates; if set, clients need a certificate.
	ClientCAFile string
}

// ReadTLS reads section server of a configuration.
func ReadTLS(root *yaml.Node) TLS {
	server := document.Child(root, "server")
	given := func(key string) string { return document.Given(document.Child(server, key)) }
	return TLS{CertificateFile: given(certFileField), KeyFile: given(keyFileField), ClientCAFile: given(clientCAField)}
}

// Enabled reports whether the server uses HTTPS, which needs both files.
func (t TLS) Enabled() bool { return t.CertificateFile != "" && t.KeyFile != "" }

// ClientCertificates reports whether the server rejects clients without a certificate.
func (t TLS) ClientCertificates() bool { return t.Enabled() && t.ClientCAFile != "" }

// Mounted reports whether the server uses the certificate that the operator mounts.
func (t TLS) Mounted() bool { return t.CertificateFile == TLSCertFile && t.KeyFile == TLSKeyFile }

// TLSEnabled reports whether the spec enables TLS.
func TLSEnabled(spec *v1alpha2.LlamaStackDistributionSpec) bool {
	return spec.Networking != nil && spec.Networking.TLS != nil && ptr.Deref(spec.Networking.TLS.Enabled, false)
}

// applyTLS sets the certificate files, or server.insecure if the server needs it to start without TLS.
func applyTLS(doc *document.Document, line *catalog.Line, spec *v1alpha2.LlamaStackDistributionSpec,
	problems *problem.Collector) {
	server := document.Ensure(doc.Root(), "server", yaml.MappingNode)
	switch {
	case TLSEnabled(spec):
		if !hasTLS(line) {
			problems.Add(problem.Problem{
				Reason: problem.UnsupportedByRelease, Path: "spec.networking.tls.enabled", Type: field.ErrorTypeForbidden,
				Detail: "the servers of release line " + line.Name + " have no TLS",
				Fix:    "remove it, and use a proxy with TLS in front of the server" + release.OtherLines(hasTLS),
			})
			return
		}
		document.Set(server, certFileField, document.String(TLSCertFile))
		document.Set(server, keyFileField, document.String(TLSKeyFile))
		document.Drop(server, insecureField)
	case line.NeedsInsecure && !ReadTLS(doc.Root()).Enabled():
		document.Set(server, insecureField, document.Bool(true))
	}
}

// hasTLS reports whether the release line supports TLS.
func hasTLS(line *catalog.Line) bool {
	fields := line.ServerFields()
	_, certificate := fields[certFileField]
	_, key := fields[keyFileField]
	return certificate && key
}
