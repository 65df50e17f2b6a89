// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	commonName = "llama-stack-k8s-operator"
	serialBits = 120
	keyTag     = "PRIVATE KEY"
)

// ca is a CA certificate with its key; key is nil if it cannot sign.
type ca struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// newCA returns a new CA certificate that may sign leaf certificates only.
func newCA(now time.Time, l Lifetimes) (*ca, error) {
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		// The serial number keeps the subjects of two CA certificates apart.
		Subject:   pkix.Name{CommonName: fmt.Sprintf("%s webhook CA %x", commonName, serial)},
		NotBefore: now.Add(-l.Backdate), NotAfter: now.Add(l.CA),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		IsCA:     true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create a key: %w", err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("create a CA certificate: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	return &ca{certificate: certificate, key: key}, err
}

// issueServing returns a serving certificate for the DNS names and its key, both PEM-encoded. The certificate expires
// no later than the CA.
func (a *ca) issueServing(now time.Time, names []string, l Lifetimes) (certificate, key []byte, err error) {
	serial, err := newSerial()
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: commonName + " webhook"},
		DNSNames:     names,
		NotBefore:    now.Add(-l.Backdate), NotAfter: earliest(now.Add(l.Serving), a.certificate.NotAfter),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("create a key: %w", err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, signer.Public(), a.key)
	if err != nil {
		return nil, nil, fmt.Errorf("create a serving certificate: %w", err)
	}
	keyPEM, err := encodeKey(signer)
	return pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType, Bytes: der}), keyPEM, err
}

func newSerial() (*big.Int, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits))
	if err != nil {
		return nil, fmt.Errorf("create a serial number: %w", err)
	}
	return serial.Add(serial, big.NewInt(1)), nil
}

func encodeKey(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: keyTag, Bytes: der}), nil
}

// decodeKey parses a PEM-encoded key. Its errors never contain the key.
func decodeKey(text []byte) (crypto.Signer, error) {
	key, err := keyutil.ParsePrivateKeyPEM(text)
	if err != nil {
		return nil, errors.New("cannot parse the key")
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errors.New("the key cannot sign")
	}
	return signer, nil
}

func earliest(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }
