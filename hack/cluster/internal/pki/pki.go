// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"
)

// certificateValidity is the validity of certificates; every start issues new ones.
const certificateValidity = 30 * 24 * time.Hour

// KeyPair is a certificate and its key, both PEM.
type KeyPair struct{ Cert, Key []byte }

// Authority issues certificates.
type Authority struct {
	KeyPair
	parsed *x509.Certificate
	signer *ecdsa.PrivateKey
}

// Subject is the subject of a certificate. Without names the certificate is only for clients.
type Subject struct {
	CommonName   string
	Organization string
	DNS          []string
	Addresses    []netip.Addr
}

// NewAuthority makes a CA certificate of that name.
func NewAuthority(name string) (*Authority, error) {
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificateTemplate(name)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	pair, err := encodePair(template, template, signer, signer)
	if err != nil {
		return nil, fmt.Errorf("certificate authority %s: %w", name, err)
	}
	parsed, err := x509.ParseCertificate(pemBytes(pair.Cert))
	if err != nil {
		return nil, err
	}
	return &Authority{KeyPair: pair, parsed: parsed, signer: signer}, nil
}

// Issue makes a certificate for s and its key.
func (a *Authority) Issue(s Subject) (KeyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return KeyPair{}, err
	}
	template := certificateTemplate(s.CommonName)
	if s.Organization != "" {
		template.Subject.Organization = []string{s.Organization}
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(s.DNS)+len(s.Addresses) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		template.DNSNames = s.DNS
		for _, address := range s.Addresses {
			template.IPAddresses = append(template.IPAddresses, net.IP(address.AsSlice()))
		}
	}
	pair, err := encodePair(template, a.parsed, key, a.signer)
	if err != nil {
		return KeyPair{}, fmt.Errorf("certificate of %s: %w", s.CommonName, err)
	}
	return pair, nil
}

func certificateTemplate(commonName string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: commonName},
		NotBefore:    now.Add(-time.Hour), // the clocks of a machine and its guest differ
		NotAfter:     now.Add(certificateValidity),
	}
}

func encodePair(template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) (KeyPair, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return KeyPair{}, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return KeyPair{}, err
	}
	return KeyPair{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
	}, nil
}

func pemBytes(data []byte) []byte {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil
	}
	return block.Bytes
}

// NewTokenKey returns the key that signs ServiceAccount tokens, with its public key as Cert.
func NewTokenKey() (KeyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return KeyPair{}, err
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return KeyPair{}, err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return KeyPair{}, err
	}
	return KeyPair{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}),
	}, nil
}

// Write stores the pair as <name>.crt and <name>.key in dir.
func (p KeyPair) Write(dir, name string) error {
	if err := os.WriteFile(filepath.Join(dir, name+".crt"), p.Cert, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".key"), p.Key, 0o600)
}
