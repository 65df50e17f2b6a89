// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/url"
	"testing"
)

// Proves: FR-027f (the library also tries plain HTTP for a slow local registry).
func TestUntrustedCertificateIsReported(t *testing.T) {
	untrusted := &url.Error{Op: "Get", URL: "https://localhost", Err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}
	plain := &url.Error{Op: "Get", URL: "http://localhost", Err: errRefused}
	for want, err := range map[Kind]error{Unreachable: errors.Join(untrusted, plain), Refused: plain} {
		if got := KindOf(wrap("localhost/a:1", err, &roundTripper{})); got != want {
			t.Errorf("%v: kind %v, want %v", err, got, want)
		}
	}
}
