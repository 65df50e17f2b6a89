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

// Where the certificate of spec.networking.tls is in the container. It is a directory of its own: that of the
// configuration is a mounted ConfigMap, in which nothing else can be mounted.
const (
	TLSDir      = "/etc/llama-stack-tls"
	TLSCertFile = TLSDir + "/tls.crt"
	TLSKeyFile  = TLSDir + "/tls.key"
)

// The fields of the section server that say whether the server encrypts.
const (
	certFileField = "tls_certfile"
	keyFileField  = "tls_keyfile"
	clientCAField = "tls_cafile"
	insecureField = "insecure"
)

// TLS is what a configuration says about encryption. The paths are empty where it names no file.
type TLS struct {
	// CertificateFile and KeyFile are the server's own. It encrypts only with both.
	CertificateFile, KeyFile string
	// ClientCAFile is the CA of client certificates: with it, the server rejects clients without one.
	ClientCAFile string
}

// ReadTLS reads the section server of a configuration.
func ReadTLS(root *yaml.Node) TLS {
	server := document.Child(root, "server")
	given := func(key string) string { return document.Given(document.Child(server, key)) }
	return TLS{CertificateFile: given(certFileField), KeyFile: given(keyFileField), ClientCAFile: given(clientCAField)}
}

// Enabled reports whether the server speaks HTTPS: with only one of the two files it speaks HTTP.
func (t TLS) Enabled() bool { return t.CertificateFile != "" && t.KeyFile != "" }

// ClientCertificates reports whether the server rejects clients without a certificate.
func (t TLS) ClientCertificates() bool { return t.Enabled() && t.ClientCAFile != "" }

// Mounted reports whether the server uses the certificate that the operator mounts.
func (t TLS) Mounted() bool { return t.CertificateFile == TLSCertFile && t.KeyFile == TLSKeyFile }

// TLSEnabled reports whether the spec asks for TLS.
func TLSEnabled(spec *v1alpha2.LlamaStackDistributionSpec) bool {
	return spec.Networking != nil && spec.Networking.TLS != nil && ptr.Deref(spec.Networking.TLS.Enabled, false)
}

// applyTLS makes the server encrypt. Where nothing does, it sets what the server needs to start without encryption.
func applyTLS(doc *document.Document, line *catalog.Line, spec *v1alpha2.LlamaStackDistributionSpec,
	problems *problem.Collector) {
	server := document.Ensure(doc.Root(), "server", yaml.MappingNode)
	switch {
	case TLSEnabled(spec):
		if !hasTLS(line) {
			problems.Add(problem.Problem{
				Reason: problem.UnsupportedByRelease, Path: "spec.networking.tls.enabled", Type: field.ErrorTypeForbidden,
				Detail: "the servers of release line " + line.Name + " have no TLS",
				Fix:    "remove it, and let a proxy in front of the server encrypt" + release.Elsewhere(hasTLS),
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

// hasTLS reports whether servers of the release line read the files.
func hasTLS(line *catalog.Line) bool {
	fields := line.ServerFields()
	_, certificate := fields[certFileField]
	_, key := fields[keyFileField]
	return certificate && key
}
