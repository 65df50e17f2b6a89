// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"strings"
)

// KeyProblem returns why the value is not the PEM private key of a public key, or "".
func (v Value) KeyProblem(public crypto.PublicKey) string {
	for rest := v.bytes; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return "contains no private key in PEM format"
		}
		switch {
		case block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "":
			return "contains a private key with a passphrase, which the server does not support"
		case !strings.HasSuffix(block.Type, "PRIVATE KEY"):
			continue // curve parameters may precede the key
		}
		key, readable := parseKey(block.Bytes)
		switch {
		case !readable:
			return "contains an invalid private key"
		case !matches(key, public):
			return "contains a private key that does not match the certificate"
		}
		return ""
	}
}

// parseKey parses a private key in PKCS #8, PKCS #1 or SEC 1 form.
func parseKey(der []byte) (key any, readable bool) {
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		return key, true
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, true
	}
	key, err := x509.ParseECPrivateKey(der)
	return key, err == nil
}

func matches(private any, public crypto.PublicKey) bool {
	own, ok := private.(interface{ Public() crypto.PublicKey })
	if !ok {
		return false
	}
	key, ok := own.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && key.Equal(public)
}
