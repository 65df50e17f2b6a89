// SPDX-License-Identifier: Apache-2.0

package tlsprofile

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// handshakes serves TLS with the follower's profile, and returns a function that connects.
func handshakes(t *testing.T, f *Follower) func(*tls.Config) (tls.ConnectionState, error) {
	t.Helper()
	certificate, key, err := certutil.GenerateSelfSignedCertKey("localhost", nil, nil) // RSA, which all key exchanges can use
	framework.NoError(t, err)
	pair, err := tls.X509KeyPair(certificate, key)
	framework.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	framework.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	secured := tls.NewListener(listener, f.Secure(&tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}))
	go func() {
		for {
			conn, err := secured.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(conn, conn) }() // ends when the client closes
		}
	}()
	return func(c *tls.Config) (tls.ConnectionState, error) {
		c.InsecureSkipVerify = true
		conn, err := tls.Dial("tcp", listener.Addr().String(), c)
		if err != nil {
			return tls.ConnectionState{}, err
		}
		defer conn.Close() //nolint:errcheck // nothing is lost
		framework.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		if _, err := conn.Write([]byte("x")); err != nil {
			return tls.ConnectionState{}, err
		}
		_, err = conn.Read(make([]byte, 1))
		return conn.ConnectionState(), err
	}
}

// Proves: TLSPROFILE (a change applies to the next handshake, also if the client resumes a session).
func TestHandshakesFollowTheProfile(t *testing.T) {
	f, err := NewFollower(&rest.Config{Host: "http://127.0.0.1:1"})
	framework.NoError(t, err)
	connect := handshakes(t, f)
	const aead, cbc, rsa = tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, tls.TLS_RSA_WITH_AES_128_CBC_SHA
	clients := []struct {
		version uint16
		cipher  uint16
	}{{tls.VersionTLS10, cbc}, {tls.VersionTLS11, rsa}, {tls.VersionTLS12, cbc}, {tls.VersionTLS12, aead}, {tls.VersionTLS13, 0}}
	sessions := tls.NewLRUClientSessionCache(10)
	for _, step := range []struct {
		name     string
		profile  *configv1.TLSSecurityProfile
		accepted []bool // for each of the clients
	}{
		{"none", nil, []bool{false, false, false, true, true}},
		{"Old", &configv1.TLSSecurityProfile{Type: "Old"}, []bool{true, true, true, true, true}},
		{"Modern", &configv1.TLSSecurityProfile{Type: "Modern"}, []bool{false, false, false, false, true}},
		{"one cipher", custom(configv1.VersionTLS10, "AES128-SHA"), []bool{false, true, false, false, true}},
		{"broken", custom(configv1.VersionTLS10, "NULL-SHA"), []bool{false, false, false, true, true}},
		{"none again", nil, []bool{false, false, false, true, true}},
	} {
		f.update(step.profile)
		for i, c := range clients {
			client := &tls.Config{MinVersion: c.version, MaxVersion: c.version, ClientSessionCache: sessions, ServerName: tls.CipherSuiteName(c.cipher)}
			if c.cipher != 0 {
				client.CipherSuites = []uint16{c.cipher}
			}
			state, err := connect(client)
			if accepted := err == nil; accepted != step.accepted[i] {
				t.Errorf("profile %s, %s, %s: %v, want accepted %v", step.name, tls.VersionName(c.version), tls.CipherSuiteName(c.cipher), err, step.accepted[i])
			}
			if err == nil && state.Version != c.version {
				t.Errorf("profile %s: negotiated %s", step.name, tls.VersionName(state.Version))
			}
		}
	}
}

// Sessions survive, although each handshake has a config of its own.
func TestSessionsAreResumed(t *testing.T) {
	f, err := NewFollower(&rest.Config{Host: "http://127.0.0.1:1"})
	framework.NoError(t, err)
	connect := handshakes(t, f)
	client := &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(1), ServerName: "localhost"}
	for _, want := range []bool{false, true} {
		if state, err := connect(client); err != nil || state.DidResume != want {
			t.Errorf("resumed %v, %v", state.DidResume, err)
		}
	}
}

// Proves: TLSPROFILE (a cluster without the API or without the permission keeps Intermediate, and the process goes on).
func TestFollowerWorksWithoutTheAPI(t *testing.T) {
	const resources = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"config.openshift.io/v1","resources":[{"name":"apiservers","kind":"APIServer","verbs":["list","watch"]}]}`
	for name, c := range map[string]struct {
		discovery func(http.ResponseWriter)
		want      func(error) bool
	}{
		"no API":        {func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) }, func(err error) bool { return errors.Is(err, errNoAPI) }},
		"no such kind":  {func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"kind":"APIResourceList"}`) }, func(err error) bool { return errors.Is(err, errNoAPI) }},
		"no permission": {func(w http.ResponseWriter) { _, _ = io.WriteString(w, resources) }, apierrors.IsForbidden},
		"an error":      {func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) }, apierrors.IsInternalError},
	} {
		t.Run(name, func(t *testing.T) {
			asked := make(chan struct{}, 10)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if r.URL.Path == "/apis/config.openshift.io/v1" {
					c.discovery(w)
					asked <- struct{}{}
					return
				}
				w.WriteHeader(http.StatusForbidden)
			}))
			t.Cleanup(server.Close)
			f, err := NewFollower(&rest.Config{Host: server.URL})
			framework.NoError(t, err)
			if err := f.follow(t.Context()); !c.want(err) {
				t.Errorf("%v", err)
			}
			<-asked
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- f.Start(ctx) }()
			<-asked
			cancel()
			if err := <-ended; err != nil || f.current.Load().MinVersion != tls.VersionTLS12 {
				t.Errorf("ended with %v, %+v", err, f.current.Load())
			}
		})
	}
}
