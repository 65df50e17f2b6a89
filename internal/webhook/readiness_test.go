// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/internal/certificate"
)

// port is a port with a certificate, which counts its handshakes.
type port struct {
	handshakes atomic.Int64
	trust      certificate.Trust
	trustErr   error
	served     *tls.Certificate
	readiness  *readiness
}

func newPort(t *testing.T) *port {
	t.Helper()
	p := &port{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		p.handshakes.Add(1)
		return nil, nil
	}, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.served, nil }}
	server.StartTLS()
	t.Cleanup(server.Close)
	p.served = &server.TLS.Certificates[0]
	p.trust = certificate.Trust{Name: "example.com", CABundle: pemOf(server.Certificate())}
	p.readiness = newReadiness(
		func(context.Context) (certificate.Trust, error) { return p.trust, p.trustErr },
		func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.served, nil },
		server.Listener.Addr(),
	)
	return p
}

func pemOf(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

// Proves: R71 (asking for readiness makes no handshake, and checking again makes one only where something changed).
func TestReadinessMakesNoHandshakePerCall(t *testing.T) {
	p := newPort(t)
	if err := p.readiness.result(); err == nil {
		t.Error("ready before anything was checked")
	}
	for range 3 {
		if err := p.readiness.check(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		_ = p.readiness.result()
	}
	if n := p.handshakes.Load(); n != 1 {
		t.Errorf("%d handshakes while nothing changed", n)
	}
	renewed := *p.served
	p.served = &renewed
	if err := p.readiness.check(t.Context()); err != nil || p.handshakes.Load() != 2 {
		t.Errorf("another certificate: %d handshakes, %v", p.handshakes.Load(), err)
	}
}

// Proves: R71 (a replica that the CRD does not trust is not ready, and says why).
func TestReadinessFollowsTheTrust(t *testing.T) {
	p := newPort(t)
	good := p.trust
	for _, c := range []struct {
		name  string
		trust certificate.Trust
		err   error
		want  string
	}{
		{"trusted", good, nil, ""},
		{"not trusted", certificate.Trust{Name: good.Name}, nil, "x509"},
		{"still not trusted", certificate.Trust{Name: good.Name}, nil, "x509"},
		{"another name", certificate.Trust{Name: "other.test", CABundle: good.CABundle}, nil, "other.test"},
		{"no definition", good, errors.New("no definition"), "no definition"},
		{"trusted again", good, nil, ""},
	} {
		p.trust, p.trustErr = c.trust, c.err
		err := p.readiness.check(t.Context())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Proves: L-27 (a replica is ready whatever its own clock says of the certificate).
func TestReadinessIgnoresTheReplicasClock(t *testing.T) {
	p := newPort(t)
	made, err := certificate.Next(certificate.Facts{
		Now: time.Now().AddDate(-20, 0, 0), Names: []string{p.trust.Name}, Lifetimes: certificate.DefaultLifetimes(),
	})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(made.Data["tls.crt"], made.Data["tls.key"])
	p.served, p.trust.CABundle = &pair, made.Data["ca.crt"]
	if err := errors.Join(err, p.readiness.check(t.Context())); err != nil {
		t.Error(err)
	}
}
