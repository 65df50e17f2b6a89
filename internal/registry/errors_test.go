// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/url"
	"testing"
)

// Of a local registry that takes its time, the library asks for plain HTTP beside HTTPS: what is wrong with HTTPS is the reason all the same.
//
// Proves: FR-027f.
func TestAnUntrustedCertificateIsTheReason(t *testing.T) {
	untrusted := &url.Error{Op: "Get", URL: "https://localhost", Err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}
	plain := &url.Error{Op: "Get", URL: "http://localhost", Err: errRefused}
	for want, err := range map[Kind]error{Unreachable: errors.Join(untrusted, plain), Refused: plain} {
		if got := KindOf(wrap("localhost/a:1", err, &roundTripper{})); got != want {
			t.Errorf("%v: kind %v, want %v", err, got, want)
		}
	}
}
