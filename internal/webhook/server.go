// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/llamastack/llama-stack-k8s-operator/internal/webhook/certificates"
)

const (
	// DefaultDrain is how long the Server keeps serving after SIGTERM; nodes stop routing to the pod within two seconds.
	DefaultDrain    = 5 * time.Second
	shutdownTimeout = 10 * time.Second
	// idleTimeout closes idle connections; it exceeds the 90 seconds of API servers, which lose a request on a closed
	// connection.
	idleTimeout = 3 * time.Minute
	// handshakeTimeout bounds the TLS handshake, bodyTimeout reading the body.
	handshakeTimeout = 5 * time.Second
	bodyTimeout      = 5 * time.Second
	readyTimeout     = time.Second
	maxHeader        = 16 << 10
	maxConnections   = 256
)

// Options configure a Server.
type Options struct {
	// Address is the listen address.
	Address string
	// Namespace is the operator's namespace.
	Namespace string
	// Managed reports whether the operator issues its own certificates.
	Managed bool
	// ClientCAFile is the CA bundle for client certificates of kinds with ClientCertificates; empty disables the check.
	ClientCAFile string
	// Secure returns the TLS config with the settings of the cluster; nil changes nothing.
	Secure func(*tls.Config) *tls.Config
	// Lifetimes and Drain are set differently only in tests.
	Lifetimes certificates.Lifetimes
	Drain     time.Duration
}

// Server serves the webhooks of one replica.
type Server struct {
	certificateManager manager.Manager
	served             *certificates.ServingCertificate
	keeper             *certificates.Keeper
	mux                *http.ServeMux
	intake             *Intake
	// clients is nil if client certificates are not checked.
	clients     *clientAuthenticator
	listener    net.Listener
	connections *Connections
	http        *http.Server
	drain       time.Duration
	draining    atomic.Bool
}

// Listen returns a Server that listens but does not serve until Run.
func Listen(ctx context.Context, config *rest.Config, o Options) (*Server, error) {
	served := &certificates.ServingCertificate{}
	keeper := &certificates.Keeper{Namespace: o.Namespace, Managed: o.Managed, Lifetimes: o.Lifetimes, Served: served}
	s := &Server{mux: http.NewServeMux(), intake: NewIntake(), drain: o.Drain, served: served, keeper: keeper}
	var err error
	if s.certificateManager, err = certificates.NewManager(config, keeper); err != nil {
		return nil, err
	}
	clientAuth := tls.NoClientCert
	if o.ClientCAFile != "" {
		if s.clients, err = newClientAuthenticator(o.ClientCAFile); err != nil {
			return nil, err
		}
		clientAuth = tls.RequestClientCert // verified per request: probes and conversions have none
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("listen for the API server: %w", err)
	}
	s.http = s.newHTTP()
	listener, s.connections = LimitConnections(s.http, listener, maxConnections)
	tlsConfig := &tls.Config{
		MinVersion: tls.VersionTLS12, GetCertificate: served.GetCertificate, ClientAuth: clientAuth,
		NextProtos: []string{"http/1.1"}, // API servers use only HTTP/1.1 for webhooks
	}
	if o.Secure != nil {
		tlsConfig = o.Secure(tlsConfig)
	}
	s.listener = tls.NewListener(listener, tlsConfig)
	s.Handle(Conversion())
	return s, nil
}

// CertificateExpiry returns the expiry of the serving certificate; zero before the first one.
func (s *Server) CertificateExpiry() time.Time { return s.served.Expiry() }

// Handle adds a kind of review. It must be called before Run.
func (s *Server) Handle(kind Kind) {
	handler := s.intake.Handler(kind)
	if s.clients != nil && kind.ClientCertificates {
		handler = s.clients.authenticate(handler)
	}
	s.mux.Handle("POST "+kind.Path, handler)
}

// Address returns the listen address.
func (s *Server) Address() net.Addr { return s.listener.Addr() }

// Run serves and renews the certificate until the context ends, then drains.
func (s *Server) Run(ctx context.Context) error {
	// Renew the certificate during the drain too.
	keeperCtx, stopKeeper := context.WithCancel(context.WithoutCancel(ctx))
	defer stopKeeper()
	ended := make(chan error, 2)
	go func() { ended <- s.certificateManager.Start(keeperCtx) }()
	go func() { ended <- s.http.Serve(s.listener) }()
	if s.clients != nil {
		go s.clients.certificates.Run(keeperCtx, 1)
	}
	select {
	case err := <-ended: // both run until they fail
		return errors.Join(errors.New("the webhook server stopped"), err, s.http.Close())
	case <-ctx.Done():
	}
	s.draining.Store(true)
	select {
	case err := <-ended:
		return errors.Join(err, s.http.Close())
	case <-time.After(s.drain):
	}
	shutdownCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	s.connections.closeIdle(shutdownCtx)
	err := s.http.Shutdown(shutdownCtx)
	stopKeeper()
	for range 2 {
		if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// newHTTP returns the HTTP server. While draining, it closes each connection after its response.
func (s *Server) newHTTP() *http.Server {
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			control := http.NewResponseController(w) // it fails only if the connection is closed
			_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
			_ = control.SetWriteDeadline(time.Now().Add(bodyTimeout + responseTimeout))
			if s.draining.Load() {
				w.Header().Set("Connection", "close")
			}
			s.mux.ServeHTTP(w, r)
		}),
		MaxHeaderBytes: maxHeader,
		// The shorter of these two bounds the handshake; the handler sets the deadlines of a request.
		ReadHeaderTimeout: idleTimeout, WriteTimeout: handshakeTimeout,
		IdleTimeout: idleTimeout,
		ErrorLog:    slog.NewLogLogger(logr.ToSlogHandler(ctrl.Log.WithName("webhook")), slog.LevelDebug),
	}
}

// Ready returns nil if API servers can convert through this server. It is a healthz.Checker.
func (s *Server) Ready(r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	return s.keeper.Trusted(ctx)
}
