// SPDX-License-Identifier: Apache-2.0

package serverprobe

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net/url"

	"golang.org/x/sync/semaphore"
)

// target is where a request goes.
type target struct {
	base   *url.URL
	trust  *Trust
	places *semaphore.Weighted
}

// Trust says which certificate a server may show: the leaf itself, or one that the CA certificates verify for the host.
// The latter are needed while a new certificate is rolled out, when pods with the former one answer too. A leaf
// verifies a server without knowing its CA.
type Trust struct {
	// Host is the DNS name of the server.
	Host string
	// Leaf is the server's certificate in DER form.
	Leaf []byte
	// CA are CA certificates as PEM; empty where they are not known.
	CA []byte
}

// config is the configuration of a client. Go's own verification is off: it knows roots, and no single certificate that
// is trusted without them. A connection to a server whose certificate is known is verified all the same.
func (t *Trust) config() *tls.Config {
	c := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // see above
	if t != nil {
		c.ServerName, c.VerifyConnection = t.Host, t.verify
	}
	return c
}

func (t *Trust) verify(state tls.ConnectionState) error {
	shown := state.PeerCertificates
	if len(shown) == 0 {
		return errUntrusted
	}
	if bytes.Equal(shown[0].Raw, t.Leaf) {
		return nil
	}
	roots, others := x509.NewCertPool(), x509.NewCertPool()
	if !roots.AppendCertsFromPEM(t.CA) {
		return errUntrusted
	}
	for _, c := range shown[1:] {
		others.AddCert(c)
	}
	if _, err := shown[0].Verify(x509.VerifyOptions{DNSName: t.Host, Roots: roots, Intermediates: others}); err != nil {
		return errUntrusted // what is wrong with it is the text of the server
	}
	return nil
}
