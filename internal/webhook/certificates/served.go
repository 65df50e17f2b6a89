// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// ServingCertificate holds the certificate that TLS serves. It is safe for concurrent use.
type ServingCertificate struct {
	current atomic.Pointer[tls.Certificate]
}

var errNoCertificate = errors.New("there is no serving certificate yet")

// GetCertificate implements tls.Config.GetCertificate.
func (s *ServingCertificate) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c := s.current.Load(); c != nil {
		return c, nil
	}
	return nil, errNoCertificate
}

// Expiry returns the expiry of the certificate; zero before the first one.
func (s *ServingCertificate) Expiry() time.Time {
	if c := s.current.Load(); c != nil && c.Leaf != nil {
		return c.Leaf.NotAfter
	}
	return time.Time{}
}

// set serves the certificate in data. On an error the previous one stays.
func (s *ServingCertificate) set(data map[string][]byte) error {
	pair, err := tls.X509KeyPair(data[keyServing], data[keyServingKey])
	if err != nil {
		return fmt.Errorf("%s and %s are not a certificate with its key: %w", keyServing, keyServingKey, err)
	}
	s.current.Store(&pair)
	return nil
}
