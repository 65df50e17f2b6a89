// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	certutil "k8s.io/client-go/util/cert"
)

// The keys of the Secret; cert-manager and OpenShift use the same, except ca.key.
const (
	keyServing    = corev1.TLSCertKey
	keyServingKey = corev1.TLSPrivateKeyKey
	keyCABundle   = corev1.ServiceAccountRootCAKey // "ca.crt"
	keyCAKey      = "ca.key"
)

// Facts are the input of Next.
type Facts struct {
	Now time.Time
	// Data is the content of the Secret; empty if it does not exist.
	Data map[string][]byte
	// Names are the DNS names that the API server calls.
	Names []string
	// Injected reports whether every target has the CA bundle in Data.
	Injected  bool
	Lifetimes Lifetimes
}

// Decision is the next state of the Secret.
type Decision struct {
	// Data is the desired content.
	Data map[string][]byte
	// Change describes the change; empty if Data is unchanged.
	Change string
	// NextAt is the time of the next decision.
	NextAt time.Time
}

// state is the parsed content of the Secret.
type state struct {
	// cas are the trusted CA certificates; only the first one signs and has a key.
	cas     []*x509.Certificate
	signer  *ca
	serving *x509.Certificate
}

// Next returns the next step for the Secret. The cases are in order of urgency.
func Next(f Facts) (Decision, error) {
	l := f.Lifetimes
	s := parseState(f)
	if s == nil {
		return recreate(f)
	}
	if s.serving == nil {
		return s.reissue(f)
	}
	signer := s.signer.certificate
	created := signer.NotBefore.Add(l.Backdate)
	current := s.serving.CheckSignatureFrom(signer) == nil
	renewal := s.serving.NotAfter.Add(-l.ServingRenewal)
	rotation := signer.NotAfter.Add(-l.CARenewal)
	maySign, mustSign := created.Add(l.Overlap), s.serving.NotAfter.Add(-l.Overlap)
	removal := created.Add(2 * l.Overlap)
	due := func(t time.Time) bool { return !f.Now.Before(t) }
	switch {
	case !current && (f.Injected && due(maySign) || due(mustSign)):
		return s.issue(f, "issued a serving certificate from the new CA")
	case !current && due(maySign): // injecting the bundle triggers a reconcile
		return Decision{Data: f.Data, NextAt: mustSign}, nil
	case !current:
		return Decision{Data: f.Data, NextAt: maySign}, nil
	case due(renewal) && signer.NotAfter.Sub(f.Now) > l.ServingRenewal: // a renewed certificate outlives this one
		return s.issue(f, "renewed the serving certificate")
	case due(rotation):
		return s.rotate(f)
	case len(s.cas) > 1 && due(removal):
		return s.removeOldCA(f)
	case len(s.cas) > 1:
		return Decision{Data: f.Data, NextAt: earliest(renewal, rotation, removal)}, nil
	default:
		return Decision{Data: f.Data, NextAt: earliest(renewal, rotation)}, nil
	}
}

// parseState parses the content of the Secret. It returns nil if the CA is unusable, and leaves serving nil if the
// certificate cannot be served.
func parseState(f Facts) *state {
	s := &state{}
	s.cas, _ = certutil.ParseCertsPEM(f.Data[keyCABundle]) // nil on error
	key, err := decodeKey(f.Data[keyCAKey])
	if err != nil || len(s.cas) == 0 {
		return nil
	}
	s.signer = &ca{certificate: s.cas[0], key: key}
	public, ok := key.Public().(interface{ Equal(x crypto.PublicKey) bool })
	if !ok || !public.Equal(s.signer.certificate.PublicKey) || !validAt(f.Now, s.signer.certificate) {
		return nil
	}
	s.serving = servable(f, s.cas)
	return s
}

// validAt reports whether now is within the certificate's validity period.
func validAt(now time.Time, c *x509.Certificate) bool {
	return !now.Before(c.NotBefore) && now.Before(c.NotAfter)
}

// servable returns the serving certificate if it matches its key, is valid now for all names, and is trusted.
func servable(f Facts, cas []*x509.Certificate) *x509.Certificate {
	pair, err := tls.X509KeyPair(f.Data[keyServing], f.Data[keyServingKey])
	if err != nil {
		return nil
	}
	roots := x509.NewCertPool()
	for _, a := range cas {
		roots.AddCert(a)
	}
	for _, name := range f.Names {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, CurrentTime: f.Now}); err != nil {
			return nil
		}
	}
	return pair.Leaf
}

func recreate(f Facts) (Decision, error) {
	a, err := newCA(f.Now, f.Lifetimes)
	if err != nil {
		return Decision{}, err
	}
	s := &state{cas: []*x509.Certificate{a.certificate}, signer: a}
	d, err := s.issue(f, "created a CA certificate and a serving certificate")
	if err == nil && !d.servable(f) {
		err = fmt.Errorf("a new certificate for %s cannot be served", strings.Join(f.Names, ", "))
	}
	return d, err
}

func (s *state) issue(f Facts, change string) (Decision, error) {
	certificate, key, err := s.signer.issueServing(f.Now, f.Names, f.Lifetimes)
	if err != nil {
		return Decision{}, err
	}
	return s.decision(f, change, certificate, key)
}

// reissue replaces a serving certificate that cannot be served. It also replaces the CA if the new certificate cannot
// be served either.
func (s *state) reissue(f Facts) (Decision, error) {
	d, err := s.issue(f, "created a serving certificate")
	if err == nil && !d.servable(f) {
		return recreate(f)
	}
	return d, err
}

func (d *Decision) servable(f Facts) bool {
	f.Data = d.Data
	cas, err := certutil.ParseCertsPEM(d.Data[keyCABundle])
	return err == nil && servable(f, cas) != nil
}

// rotate adds a new CA that is trusted at once; the serving certificate is not yet signed by it.
func (s *state) rotate(f Facts) (Decision, error) {
	a, err := newCA(f.Now, f.Lifetimes)
	if err != nil {
		return Decision{}, err
	}
	s.cas = slices.Insert(s.cas, 0, a.certificate)
	s.signer = a
	return s.decision(f, "created a new CA certificate", f.Data[keyServing], f.Data[keyServingKey])
}

func (s *state) removeOldCA(f Facts) (Decision, error) {
	s.cas = s.cas[:1]
	return s.decision(f, "removed the old CA certificate", f.Data[keyServing], f.Data[keyServingKey])
}

func (s *state) decision(f Facts, change string, serving, servingKey []byte) (Decision, error) {
	key, err := encodeKey(s.signer.key)
	if err != nil {
		return Decision{}, err
	}
	bundle, err := certutil.EncodeCertificates(s.cas...)
	if err != nil {
		return Decision{}, err
	}
	return Decision{Change: change, NextAt: f.Now, Data: map[string][]byte{
		keyServing: serving, keyServingKey: servingKey,
		keyCABundle: bundle, keyCAKey: key,
	}}, nil
}

const day = 24 * time.Hour

// Lifetimes are the validity and overlap periods of the certificates.
type Lifetimes struct {
	// CA is the validity of a CA certificate; its successor is made CARenewal before it expires.
	CA, CARenewal time.Duration
	// Serving is the validity of a serving certificate; its successor is made ServingRenewal before it expires.
	Serving, ServingRenewal time.Duration
	// Overlap is how long a new CA is trusted before it signs, and how long the old one stays trusted after that. It must
	// exceed the time an API server takes to load a CA bundle (seconds); twice the overlap must fit into ServingRenewal.
	Overlap time.Duration
	// Backdate is the tolerated clock skew: NotBefore is set this far into the past.
	Backdate time.Duration
	// WritePeriod is the time between writes after the first writeBurst.
	WritePeriod time.Duration
}

// DefaultLifetimes returns the lifetimes used outside tests.
func DefaultLifetimes() Lifetimes {
	return Lifetimes{
		CA: 3650 * day, CARenewal: 365 * day,
		Serving: 90 * day, ServingRenewal: 30 * day,
		Overlap: day, Backdate: time.Hour, WritePeriod: time.Minute,
	}
}
