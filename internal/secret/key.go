// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"strings"
)

// KeyProblem reports why the value is not the private key, in PEM form, of a public key; empty where it is.
func (v Value) KeyProblem(of crypto.PublicKey) string {
	for rest := v.bytes; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return "holds no private key in PEM form"
		}
		switch {
		case block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "":
			return "holds a private key with a passphrase, which the server cannot ask for"
		case !strings.HasSuffix(block.Type, "PRIVATE KEY"):
			continue // parameters of a curve may stand before the key
		}
		key, readable := parseKey(block.Bytes)
		switch {
		case !readable:
			return "holds a private key that cannot be read"
		case !fits(key, of):
			return "holds a private key that does not fit the certificate"
		}
		return ""
	}
}

// parseKey parses a private key in one of the forms that servers read.
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

func fits(private any, public crypto.PublicKey) bool {
	own, ok := private.(interface{ Public() crypto.PublicKey })
	if !ok {
		return false
	}
	key, ok := own.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && key.Equal(public)
}
