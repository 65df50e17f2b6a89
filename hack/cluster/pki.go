// SPDX-License-Identifier: Apache-2.0

package cluster

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

// certificateLife is how long certificates hold; clusters are short-lived and
// every start issues new ones.
const certificateLife = 30 * 24 * time.Hour

// keyPair is a certificate and its key, both PEM.
type keyPair struct{ cert, key []byte }

// authority issues certificates.
type authority struct {
	keyPair
	parsed *x509.Certificate
	signer *ecdsa.PrivateKey
}

// subject is what a certificate speaks for. Without names it is a client's only.
type subject struct {
	commonName   string
	organization string
	dns          []string
	addresses    []netip.Addr
}

func newAuthority(name string) (*authority, error) {
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
	parsed, err := x509.ParseCertificate(pemBytes(pair.cert))
	if err != nil {
		return nil, err
	}
	return &authority{keyPair: pair, parsed: parsed, signer: signer}, nil
}

func (a *authority) issue(s subject) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, err
	}
	template := certificateTemplate(s.commonName)
	if s.organization != "" {
		template.Subject.Organization = []string{s.organization}
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(s.dns)+len(s.addresses) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		template.DNSNames = s.dns
		for _, address := range s.addresses {
			template.IPAddresses = append(template.IPAddresses, net.IP(address.AsSlice()))
		}
	}
	pair, err := encodePair(template, a.parsed, key, a.signer)
	if err != nil {
		return keyPair{}, fmt.Errorf("certificate of %s: %w", s.commonName, err)
	}
	return pair, nil
}

func certificateTemplate(commonName string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: commonName},
		NotBefore:    now.Add(-time.Hour), // clocks of a machine and its guest differ
		NotAfter:     now.Add(certificateLife),
	}
}

func encodePair(template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) (keyPair, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return keyPair{}, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return keyPair{}, err
	}
	return keyPair{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
	}, nil
}

func pemBytes(data []byte) []byte {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil
	}
	return block.Bytes
}

// newTokenKey returns the key that signs ServiceAccount tokens and, as cert, its
// public half.
func newTokenKey() (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, err
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return keyPair{}, err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return keyPair{}, err
	}
	return keyPair{
		cert: pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}),
	}, nil
}

// write stores the pair as <name>.crt and <name>.key in dir.
func (p keyPair) write(dir, name string) error {
	if err := os.WriteFile(filepath.Join(dir, name+".crt"), p.cert, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".key"), p.key, 0o600)
}
