// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// proxy is between an operator and the API server. Its hooks can change at any time.
type proxy struct {
	// before is called with each request, and reports whether it has answered the request itself.
	before atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
	// answered is called with each response of the API server, and reports whether to pass it on.
	answered   atomic.Pointer[func(*http.Request, int) bool]
	kubeconfig string
}

var errHeldBack = errors.New("held back")

// newProxy starts a proxy that passes all requests, until the test ends.
func newProxy(t *testing.T) *proxy {
	t.Helper()
	config, err := cluster.AdminConfig()
	framework.NoError(t, err)
	target, err := url.Parse(config.Host)
	framework.NoError(t, err)
	trust, err := rest.TLSConfigFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: config.CAData, CAFile: config.CAFile}})
	framework.NoError(t, err)
	p := &proxy{}
	p.pass()
	forward := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     &http.Transport{TLSClientConfig: trust, ForceAttemptHTTP2: true},
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		ModifyResponse: func(r *http.Response) error {
			if !(*p.answered.Load())(r.Request, r.StatusCode) {
				return errHeldBack
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	ca := framework.NewCA(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	framework.NoError(t, err)
	server := &http.Server{
		ErrorLog:  log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{ca.Certificate(ca.ServerSecret([]string{"localhost"}))}},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !(*p.before.Load())(w, r) {
				forward.ServeHTTP(w, r)
			}
		}),
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = server.Close(); <-done })
	p.kubeconfig = through(t, listener.Addr().String(), ca.PEM)
	return p
}

// pass removes the hooks.
func (p *proxy) pass() {
	before, answered := func(http.ResponseWriter, *http.Request) bool { return false }, func(*http.Request, int) bool { return true }
	p.before.Store(&before)
	p.answered.Store(&answered)
}

// isWrite reports whether a request changes an object of the namespace other than an Event.
func isWrite(r *http.Request, namespace string) bool {
	return r.Method != http.MethodGet && !r.URL.Query().Has("dryRun") &&
		strings.Contains(r.URL.Path, "/namespaces/"+namespace+"/") && !strings.HasSuffix(r.URL.Path, "/events")
}
