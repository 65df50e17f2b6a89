// SPDX-License-Identifier: Apache-2.0

package secret_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const pkcs8 = "PRIVATE KEY"

// A server reads the first private key of its file, in any common PEM format.
//
// Proves: R8, R7.
func TestKeyProblemAcceptsEachPrivateKeyFormat(t *testing.T) {
	ec := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	rsaKey := must(rsa.GenerateKey(rand.Reader, 2048))
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	framework.NoError(t, err)
	parameters := block("EC PARAMETERS", []byte{1})
	sec1 := block("EC PRIVATE KEY", must(x509.MarshalECPrivateKey(ec)))
	for name, c := range map[string]struct {
		public crypto.PublicKey
		text   []byte
	}{
		"PKCS #8, elliptic curve":   {ec.Public(), block(pkcs8, must(x509.MarshalPKCS8PrivateKey(ec)))},
		"PKCS #8, RSA":              {rsaKey.Public(), block(pkcs8, must(x509.MarshalPKCS8PrivateKey(rsaKey)))},
		"PKCS #8, Ed25519":          {ed.Public(), block(pkcs8, must(x509.MarshalPKCS8PrivateKey(ed)))},
		"PKCS #1":                   {rsaKey.Public(), block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsaKey))},
		"SEC 1":                     {ec.Public(), sec1},
		"after the curve":           {ec.Public(), slices.Concat(parameters, sec1)},
		"after text that is no PEM": {ec.Public(), slices.Concat([]byte("key of the server\n"), sec1)},
	} {
		if got := secret.New(c.text).KeyProblem(c.public); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Proves: R8, R7 (the problem does not quote the key).
func TestKeyProblemReportsKeysThatTheServerCannotUse(t *testing.T) {
	ec, other := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)), must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	good := block(pkcs8, must(x509.MarshalPKCS8PrivateKey(ec)))
	encrypted := pem.EncodeToMemory(&pem.Block{
		Type: "RSA PRIVATE KEY", Headers: map[string]string{"DEK-Info": "AES-256-CBC,00"}, Bytes: []byte{1},
	})
	for name, c := range map[string]struct {
		text []byte
		want string
	}{
		"empty":                      {nil, "contains no private key in PEM format"},
		"a certificate":              {block("CERTIFICATE", []byte{1}), "contains no private key in PEM format"},
		"with a passphrase, PKCS #8": {block("ENCRYPTED PRIVATE KEY", []byte{1}), "contains a private key with a passphrase"},
		"with a passphrase":          {encrypted, "contains a private key with a passphrase"},
		"damaged":                    {block(pkcs8, []byte("damaged")), "contains an invalid private key"},
		"of another certificate":     {block(pkcs8, must(x509.MarshalPKCS8PrivateKey(other))), "contains a private key that does not match the certificate"},
		"damaged, before a good one": {slices.Concat(block(pkcs8, []byte("damaged")), good), "contains an invalid private key"},
	} {
		got := secret.New(c.text).KeyProblem(ec.Public())
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func block(kind string, content []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
