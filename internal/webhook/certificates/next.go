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

// The keys of the Secret. They are those of cert-manager and of OpenShift, but for the last, which only the operator
// has.
const (
	keyServing    = corev1.TLSCertKey
	keyServingKey = corev1.TLSPrivateKeyKey
	keyCABundle   = corev1.ServiceAccountRootCAKey // "ca.crt"
	keyCAKey      = "ca.key"
)

// Facts are what Next decides by.
type Facts struct {
	Now time.Time
	// Data is the content of the Secret as it stands; empty where there is none.
	Data map[string][]byte
	// Names are the DNS names that the API server calls.
	Names []string
	// Injected says that the CA bundle in Data is the one that every target has.
	Injected  bool
	Lifetimes Lifetimes
}

// Decision is what is to become of the Secret.
type Decision struct {
	// Data is the content that it shall have.
	Data map[string][]byte
	// Did says what changed; empty where Data is what it was.
	Did string
	// Wake is when there will be something to decide again.
	Wake time.Time
}

// state is the Secret's content, understood.
type state struct {
	// cas are all that are trusted. The first one signs; it is the only one whose key is kept.
	cas     []*x509.Certificate
	signer  *ca
	serving *x509.Certificate
}

// Next decides what the Secret holds next. The rules stand in the order of their urgency, and it takes one step at a
// time.
func Next(f Facts) (Decision, error) {
	l := f.Lifetimes
	s := understand(f)
	if s == nil {
		return startAnew(f)
	}
	if s.serving == nil {
		return s.reissue(f)
	}
	signer := s.signer.certificate
	made := signer.NotBefore.Add(l.Backdate)
	current := s.serving.CheckSignatureFrom(signer) == nil
	renewal := s.serving.NotAfter.Add(-l.ServingRenewal)
	rotation := signer.NotAfter.Add(-l.CARenewal)
	maySign, mustSign := made.Add(l.Overlap), s.serving.NotAfter.Add(-l.Overlap)
	forget := made.Add(2 * l.Overlap)
	due := func(t time.Time) bool { return !f.Now.Before(t) }
	switch {
	case !current && (f.Injected && due(maySign) || due(mustSign)):
		return s.issue(f, "the new CA signs now")
	case !current && due(maySign): // being injected wakes
		return Decision{Data: f.Data, Wake: mustSign}, nil
	case !current:
		return Decision{Data: f.Data, Wake: maySign}, nil
	case due(renewal) && signer.NotAfter.Sub(f.Now) > l.ServingRenewal: // what it signs now does not outlive it
		return s.issue(f, "renewed the serving certificate")
	case due(rotation):
		return s.rotate(f)
	case len(s.cas) > 1 && due(forget):
		return s.forgetOld(f)
	case len(s.cas) > 1:
		return Decision{Data: f.Data, Wake: earliest(renewal, rotation, forget)}, nil
	default:
		return Decision{Data: f.Data, Wake: earliest(renewal, rotation)}, nil
	}
}

// understand reads the Secret's content, and returns nil where no CA is usable. The serving certificate
// is nil where it cannot be served.
func understand(f Facts) *state {
	s := &state{}
	s.cas, _ = certutil.ParseCertsPEM(f.Data[keyCABundle]) // none of a text that has none
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

// validAt reports whether the certificate is valid. One that a clock ahead of time made is not valid yet.
func validAt(now time.Time, c *x509.Certificate) bool {
	return !now.Before(c.NotBefore) && now.Before(c.NotAfter)
}

// servable returns the serving certificate where its key fits, it is valid now for all the names, and it is trusted.
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

// startAnew makes a CA and a serving certificate that owe nothing to what was there before.
func startAnew(f Facts) (Decision, error) {
	a, err := newCA(f.Now, f.Lifetimes)
	if err != nil {
		return Decision{}, err
	}
	s := &state{cas: []*x509.Certificate{a.certificate}, signer: a}
	d, err := s.issue(f, "made a CA certificate and a serving certificate")
	if err == nil && !d.servable(f) {
		err = fmt.Errorf("a new certificate for %s cannot be served", strings.Join(f.Names, ", "))
	}
	return d, err
}

// issue makes a serving certificate.
func (s *state) issue(f Facts, did string) (Decision, error) {
	certificate, key, err := s.signer.serving(f.Now, f.Names, f.Lifetimes)
	if err != nil {
		return Decision{}, err
	}
	return s.decision(f, did, certificate, key)
}

// reissue makes a serving certificate in place of one that cannot be served. Where the CA is the cause, such as one
// that may not sign, both are replaced: signing again would not help.
func (s *state) reissue(f Facts) (Decision, error) {
	d, err := s.issue(f, "made a serving certificate")
	if err == nil && !d.servable(f) {
		return startAnew(f)
	}
	return d, err
}

func (d *Decision) servable(f Facts) bool {
	f.Data = d.Data
	cas, err := certutil.ParseCertsPEM(d.Data[keyCABundle])
	return err == nil && servable(f, cas) != nil
}

// rotate makes a new CA, which is trusted from now on but signs nothing yet.
func (s *state) rotate(f Facts) (Decision, error) {
	a, err := newCA(f.Now, f.Lifetimes)
	if err != nil {
		return Decision{}, err
	}
	s.cas = slices.Insert(s.cas, 0, a.certificate)
	s.signer = a
	return s.decision(f, "made a new CA certificate", f.Data[keyServing], f.Data[keyServingKey])
}

// forgetOld ends the trust in every CA but the one that signs.
func (s *state) forgetOld(f Facts) (Decision, error) {
	s.cas = s.cas[:1]
	return s.decision(f, "removed the old CA certificate", f.Data[keyServing], f.Data[keyServingKey])
}

func (s *state) decision(f Facts, did string, serving, servingKey []byte) (Decision, error) {
	key, err := encodeKey(s.signer.key)
	if err != nil {
		return Decision{}, err
	}
	bundle, err := certutil.EncodeCertificates(s.cas...)
	if err != nil {
		return Decision{}, err
	}
	return Decision{Did: did, Wake: f.Now, Data: map[string][]byte{
		keyServing: serving, keyServingKey: servingKey,
		keyCABundle: bundle, keyCAKey: key,
	}}, nil
}

const day = 24 * time.Hour

// Lifetimes say how long certificates live, and how long old and new ones overlap.
type Lifetimes struct {
	// CA is how long a CA certificate is valid, CARenewal how long before its end the next one is made.
	CA, CARenewal time.Duration
	// Serving is how long a serving certificate is valid, ServingRenewal how long before its end the next one is made.
	Serving, ServingRenewal time.Duration
	// Overlap is how long a new CA is trusted before it signs, and the old one after that. It must be longer than an
	// API server takes until it uses a new CA bundle (seconds), and leave time to fix what keeps the bundle from
	// being written. Twice the overlap must fit into ServingRenewal.
	Overlap time.Duration
	// Backdate is how far clocks may be apart: certificates are valid from so long before they are made.
	Backdate time.Duration
	// WritePeriod is how long to wait between writes once a few of them in a row have not been enough.
	WritePeriod time.Duration
}

// DefaultLifetimes are those of every installation.
func DefaultLifetimes() Lifetimes {
	return Lifetimes{
		CA: 3650 * day, CARenewal: 365 * day,
		Serving: 90 * day, ServingRenewal: 30 * day,
		Overlap: day, Backdate: time.Hour, WritePeriod: time.Minute,
	}
}
