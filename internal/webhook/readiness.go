// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/internal/certificate"
)

const (
	// lookPeriod is how often readiness looks whether the trust or the certificate changed, callPeriod how often it calls the port
	// where nothing did.
	lookPeriod = time.Second
	callPeriod = 30 * time.Second
	// callTimeout bounds one check.
	callTimeout = 5 * time.Second
	// staleAfter is when an old result says nothing any more.
	staleAfter = 3 * callPeriod
)

// readiness checks in the background whether an API server gets conversions from this replica: it calls the replica's own port by
// the name and with the trust that the CustomResourceDefinition gives the API server. A probe reads the result, so that a client that
// reaches the health port causes no handshakes.
type readiness struct {
	trust   func(context.Context) (certificate.Trust, error)
	served  func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	address net.Addr

	// called is what the last call saw.
	called struct {
		trust       certificate.Trust
		certificate *tls.Certificate
		at          time.Time
	}

	mu      sync.Mutex
	err     error
	checked time.Time
}

func newReadiness(
	trust func(context.Context) (certificate.Trust, error), served func(*tls.ClientHelloInfo) (*tls.Certificate, error), address net.Addr,
) *readiness {
	return &readiness{trust: trust, served: served, address: address, err: errors.New("not checked yet")}
}

func (r *readiness) result() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil && time.Since(r.checked) > staleAfter {
		return fmt.Errorf("not checked since %s", r.checked.UTC().Format(time.RFC3339))
	}
	return r.err
}

// run checks until the context ends.
func (r *readiness) run(ctx context.Context) {
	ticker := time.NewTicker(lookPeriod)
	defer ticker.Stop()
	for {
		err := r.check(ctx)
		if ctx.Err() != nil {
			return // the last result stands: the replica drains
		}
		r.mu.Lock()
		r.err, r.checked = err, time.Now()
		r.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// check calls the port where that may have another outcome than the last time.
func (r *readiness) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	trust, err := r.trust(ctx)
	if err != nil {
		return err
	}
	served, err := r.served(nil)
	if err != nil {
		return err
	}
	last := &r.called
	if last.trust.Equal(trust) && last.certificate == served && time.Since(last.at) < callPeriod {
		return nil
	}
	if err := r.call(ctx, trust, served); err != nil {
		last.at = time.Time{} // call again soon
		return fmt.Errorf("calling the webhooks as %s: %w", trust.Name, err)
	}
	last.trust, last.certificate, last.at = trust, served, time.Now()
	return nil
}

// call makes a handshake with the port, as an API server does. The time of the certificate is not checked: only the API
// server's clock counts, and the certificate is the same in all replicas.
func (r *readiness) call(ctx context.Context, trust certificate.Trust, served *tls.Certificate) error {
	_, port, err := net.SplitHostPort(r.address.String())
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(trust.CABundle)
	dialer := tls.Dialer{Config: &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: trust.Name, RootCAs: roots, Time: func() time.Time { return served.Leaf.NotBefore },
	}}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("localhost", port))
	if err != nil {
		return err
	}
	return conn.Close()
}
