// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// signed returns a CA certificate and a leaf certificate for the usage.
func signed(t *testing.T, use x509.ExtKeyUsage) (authority, leaf *x509.Certificate) {
	t.Helper()
	certify := func(template, parent *x509.Certificate, public *ecdsa.PublicKey, signer *ecdsa.PrivateKey) *x509.Certificate {
		template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(1), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
		if err != nil {
			t.Fatal(err)
		}
		c, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	root := &x509.Certificate{Subject: pkix.Name{CommonName: "CA"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	authority = certify(root, root, &key.PublicKey, key)
	client := &x509.Certificate{Subject: pkix.Name{CommonName: "apiserver"}, ExtKeyUsage: []x509.ExtKeyUsage{use}}
	return authority, certify(client, authority, &key.PublicKey, key)
}

func pemOf(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

// Proves: R63 (with the flag, nothing is read from clients without a certificate of the CA).
func TestClientsNeedACertificate(t *testing.T) {
	authority, apiServer := signed(t, x509.ExtKeyUsageClientAuth)
	_, other := signed(t, x509.ExtKeyUsageClientAuth)
	servingAuthority, serving := signed(t, x509.ExtKeyUsageServerAuth)
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, append(pemOf(authority), pemOf(servingAuthority)...), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := newClientAuthenticator(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		certificates []*x509.Certificate
		code         int
	}{
		"no certificate":              {nil, http.StatusForbidden},
		"a certificate of another CA": {[]*x509.Certificate{other}, http.StatusForbidden},
		"a serving certificate":       {[]*x509.Certificate{serving}, http.StatusForbidden},
		"the API server":              {[]*x509.Certificate{apiServer}, http.StatusOK},
	} {
		b := &body{Reader: strings.NewReader("review")}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, ValidationPath, b)
		r.ContentLength, r.TLS = int64(len("review")), &tls.ConnectionState{PeerCertificates: want.certificates}
		recorder := httptest.NewRecorder()
		c.authenticate(NewIntake().Handler(kind(1000, time.Second, echo))).ServeHTTP(recorder, r)
		if recorder.Code != want.code || (b.read.Load() > 0) != (want.code == http.StatusOK) {
			t.Errorf("%s: %d after %d bytes, want %d", name, recorder.Code, b.read.Load(), want.code)
		}
	}
	if _, err := newClientAuthenticator(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that does not exist is accepted")
	}
	if (&Validation{}).Kind().ClientCertificates == Conversion().ClientCertificates {
		t.Error("API servers show certificates for validation, and none for conversion")
	}
}
