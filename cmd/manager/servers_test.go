// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/llamastack/llama-stack-k8s-operator/internal/manager/tlsprofile"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// serving runs a server until the test ends.
func serving(t *testing.T, run func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Proves: R63, R71 (new connections replace idle ones before their timeout).
func TestPortsLimitClientConnections(t *testing.T) {
	t.Parallel()
	metrics, health := framework.FreeAddress(t), framework.FreeAddress(t)
	unreachable := &rest.Config{Host: "http://127.0.0.1:1"}
	profile, err := tlsprofile.NewFollower(unreachable)
	framework.NoError(t, err)
	serveMetrics, err := metricsServer(unreachable, &flags{metricsAddress: metrics}, profile)
	framework.NoError(t, err)
	serving(t, serveMetrics)
	serving(t, healthServer(health, nil))
	for name, c := range map[string]struct {
		address string
		secure  *tls.Config
		path    string
		want    string
	}{
		"metrics": {metrics, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}}, "/metrics", "401"},
		"probes":  {health, nil, "/healthz", "200"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ask := func(conn net.Conn, header string) string {
				t.Helper()
				return statusOver(t, conn, "GET "+c.path+" HTTP/1.1\r\nHost: a\r\n"+header+"\r\n")
			}
			first := dial(t, c.address, c.secure)
			if got := ask(first, ""); got != c.want {
				t.Fatalf("status %s, want %s", got, c.want)
			}
			if secure, ok := first.(*tls.Conn); ok && secure.ConnectionState().NegotiatedProtocol == "h2" {
				t.Error("HTTP/2 is served: a connection then has many requests at once")
			}
			for range maxConnections {
				dial(t, c.address, nil) // sends nothing, not even a handshake
			}
			if got := ask(dial(t, c.address, c.secure), ""); got != c.want {
				t.Errorf("status %s among silent connections, want %s", got, c.want)
			}
			idle := dial(t, c.address, c.secure)
			if got := ask(idle, ""); got != c.want {
				t.Fatalf("status %s, want %s", got, c.want)
			}
			for range 2 * maxConnections { // a connection counts as idle shortly after its client has the response
				conn := dial(t, c.address, c.secure)
				if got := ask(conn, ""); got != c.want {
					t.Fatalf("status %s among idle connections, want %s", got, c.want)
				}
			}
			framework.NoError(t, idle.SetReadDeadline(time.Now().Add(idleTimeout/2)))
			if _, err := idle.Read(make([]byte, 1)); !isClosed(err) {
				t.Errorf("the oldest of more than %d idle connections is not closed: %v", maxConnections, err)
			}
			if got := ask(dial(t, c.address, c.secure), "X: "+strings.Repeat("x", 32<<10)+"\r\n"); got != "431" {
				t.Errorf("a header of 32 KiB: status %s, want 431", got)
			}
		})
	}
}

// dial opens a connection once the port is open.
func dial(t *testing.T, address string, secure *tls.Config) (conn net.Conn) {
	t.Helper()
	framework.Eventually(t, time.Minute, "a connection to "+address, func() (err error) {
		if conn, err = net.Dial("tcp", address); err != nil || secure == nil {
			return err
		}
		over := tls.Client(conn, secure)
		conn = over
		return over.HandshakeContext(t.Context())
	})
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// statusOver sends a request and returns the status code.
func statusOver(t *testing.T, conn net.Conn, request string) string {
	t.Helper()
	framework.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, _ = io.WriteString(conn, request) // the response can arrive before the request is sent completely
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	framework.NoError(t, err)
	code, _, _ := strings.Cut(answer.Status, " ")
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	return code
}

// isClosed reports whether the other side closed the connection.
func isClosed(err error) bool {
	timeout := net.Error(nil)
	return err != nil && (!errors.As(err, &timeout) || !timeout.Timeout())
}

// Proves: R71 (the metrics endpoint uses the certificate of the directory, or a self-signed one without it).
func TestMetricsTLSUsesCertificateOfDirectory(t *testing.T) {
	t.Parallel()
	ca, directory := framework.NewCA(t), t.TempDir()
	if secure, _, err := metricsTLS(directory); err != nil || len(secure.Certificates) != 1 {
		t.Errorf("an empty directory: %+v, %v", secure, err)
	}
	for name, content := range ca.ServerSecret([]string{"localhost"}) {
		framework.WriteFile(t, filepath.Join(directory, name), content)
	}
	secure, _, err := metricsTLS(directory)
	framework.NoError(t, err)
	served, err := secure.GetCertificate(nil)
	framework.NoError(t, err)
	if _, err := served.Leaf.Verify(x509.VerifyOptions{DNSName: "localhost", Roots: ca.Trust("localhost").RootCAs}); err != nil {
		t.Error(err)
	}
	framework.WriteFile(t, filepath.Join(directory, "tls.crt"), "garbage")
	if _, _, err := metricsTLS(directory); err == nil {
		t.Error("a certificate that cannot be read is taken for none")
	}
}
