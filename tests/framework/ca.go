// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// CA issues certificates for servers.
type CA struct {
	t           testing.TB
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	// PEM is the certificate of the CA.
	PEM []byte
}

// NewCA makes a CA that is valid for a day.
func NewCA(t testing.TB) *CA {
	t.Helper()
	ca := &CA{t: t, key: newKey(t), certificate: &x509.Certificate{
		Subject: pkix.Name{CommonName: "CA of " + t.Name()}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
	}}
	ca.PEM = ca.sign(ca.certificate, ca.key)
	block, _ := pem.Decode(ca.PEM)
	var err error
	ca.certificate, err = x509.ParseCertificate(block.Bytes)
	NoError(t, err)
	return ca
}

// ServerSecret returns the data of a TLS Secret as cert-manager writes it, for a certificate that is valid for a day.
// change modifies the certificate before it is signed.
func (ca *CA) ServerSecret(hosts []string, change ...func(*x509.Certificate)) map[string][]byte {
	ca.t.Helper()
	key := newKey(ca.t)
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "server"}, DNSNames: hosts, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(23 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, f := range change {
		f(template)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	NoError(ca.t, err)
	return map[string][]byte{
		"tls.crt": ca.sign(template, key), "ca.crt": ca.PEM, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
	}
}

// Certificate parses the data of a ServerSecret.
func (ca *CA) Certificate(data map[string][]byte) tls.Certificate {
	ca.t.Helper()
	pair, err := tls.X509KeyPair(data["tls.crt"], data["tls.key"])
	NoError(ca.t, err)
	return pair
}

// Trust returns the TLS configuration of a client that trusts the CA and calls the host.
func (ca *CA) Trust(host string) *tls.Config {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.PEM)
	return &tls.Config{RootCAs: roots, ServerName: host, MinVersion: tls.VersionTLS12}
}

func (ca *CA) sign(template *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	ca.t.Helper()
	number, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	NoError(ca.t, err)
	template.SerialNumber = number
	der, err := x509.CreateCertificate(rand.Reader, template, ca.certificate, key.Public(), ca.key)
	NoError(ca.t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	NoError(t, err)
	return key
}
