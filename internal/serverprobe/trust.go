// SPDX-License-Identifier: Apache-2.0

package serverprobe

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"time"

	"golang.org/x/sync/semaphore"
)

type target struct {
	base  *url.URL
	trust *Trust
	slots *semaphore.Weighted
	// timeout bounds one request; zero means requestTimeout.
	timeout time.Duration
}

// Trust verifies a server by its own certificate, or by the CA for the host. The CA is needed during a certificate
// rotation, when old pods still serve the former certificate.
type Trust struct {
	// Host is the DNS name of the server.
	Host string
	// Leaf is the server's certificate in DER.
	Leaf []byte
	// CA is the CA bundle in PEM; empty if unknown.
	CA []byte
}

// config returns the TLS configuration. Go's verification is replaced by verify, because it cannot pin a leaf
// certificate.
func (t *Trust) config() *tls.Config {
	c := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // see above
	if t != nil {
		c.ServerName, c.VerifyConnection = t.Host, t.verify
	}
	return c
}

func (t *Trust) verify(state tls.ConnectionState) error {
	presented := state.PeerCertificates
	if len(presented) == 0 {
		return errUntrusted
	}
	if bytes.Equal(presented[0].Raw, t.Leaf) {
		return nil
	}
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	if !roots.AppendCertsFromPEM(t.CA) {
		return errUntrusted
	}
	for _, c := range presented[1:] {
		intermediates.AddCert(c)
	}
	options := x509.VerifyOptions{DNSName: t.Host, Roots: roots, Intermediates: intermediates}
	if _, err := presented[0].Verify(options); err != nil {
		return errUntrusted // the detail would quote the certificate
	}
	return nil
}
