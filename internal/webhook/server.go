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
	// DefaultDrain is how long the Server goes on after it was told to end. Nodes hear of an ending pod within a second
	// or two.
	DefaultDrain = 5 * time.Second
	// finishTimeout bounds how long requests that have begun may take after that.
	finishTimeout = 10 * time.Second
	// idleTimeout bounds the wait for the first or next request on a connection. It is longer than the 90 seconds of an
	// API server, which loses a request that meets the end of its connection.
	idleTimeout = 3 * time.Minute
	// handshakeTimeout bounds a handshake, bodyTimeout the time from the end of the header to the end of the body.
	handshakeTimeout = 5 * time.Second
	bodyTimeout      = 5 * time.Second
	// readyTimeout bounds the wait for the first reading of the CRD.
	readyTimeout = time.Second
	maxHeader    = 16 << 10
	// maxConnections bounds the connections.
	maxConnections = 256
)

// Options are the choices of a Server.
type Options struct {
	// Address is where to listen.
	Address string
	// Namespace is the operator's own.
	Namespace string
	// Managed says that the operator makes the certificates itself.
	Managed bool
	// ClientCAFile is a file with the CA certificates of clients that may send those kinds of review with which an API
	// server can show a certificate; empty means that everyone may.
	ClientCAFile string
	// Lifetimes and Drain differ from the defaults in tests alone.
	Lifetimes certificates.Lifetimes
	Drain     time.Duration
}

// Server serves the webhooks of one replica.
type Server struct {
	watch  manager.Manager
	served *certificates.Served
	keeper *certificates.Keeper
	mux    *http.ServeMux
	intake *Intake
	// clients is nil where everyone may send reviews.
	clients  *clients
	listener net.Listener
	open     *Connections
	http     *http.Server
	drain    time.Duration
	draining atomic.Bool
}

// Listen makes a Server and takes its port. Run must follow.
func Listen(ctx context.Context, config *rest.Config, o Options) (*Server, error) {
	served := &certificates.Served{}
	keeper := &certificates.Keeper{Namespace: o.Namespace, Managed: o.Managed, Lifetimes: o.Lifetimes, Served: served}
	s := &Server{mux: http.NewServeMux(), intake: NewIntake(), drain: o.Drain, served: served, keeper: keeper}
	var err error
	if s.watch, err = certificates.NewWatch(config, keeper); err != nil {
		return nil, err
	}
	ask := tls.NoClientCert
	if o.ClientCAFile != "" {
		if s.clients, err = newClients(o.ClientCAFile); err != nil {
			return nil, err
		}
		ask = tls.RequestClientCert // and checked with the request: probes and conversions have none
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("listen for the API server: %w", err)
	}
	s.http = s.newHTTP()
	listener, s.open = LimitConnections(s.http, listener, maxConnections)
	s.listener = tls.NewListener(listener, &tls.Config{
		MinVersion: tls.VersionTLS12, GetCertificate: served.GetCertificate, ClientAuth: ask,
		NextProtos: []string{"http/1.1"}, // the only one that API servers use for webhooks
	})
	s.Handle(Conversion())
	return s, nil
}

// CertificateExpiry is when the certificate that is served expires; zero while there is none.
func (s *Server) CertificateExpiry() time.Time { return s.served.Expiry() }

// Handle serves a further kind of review. It must be called before Run.
func (s *Server) Handle(kind Kind) {
	handler := s.intake.Handler(kind)
	if s.clients != nil && kind.ClientCertificates {
		handler = s.clients.only(handler)
	}
	s.mux.Handle("POST "+kind.Path, handler)
}

// Address is where the Server listens.
func (s *Server) Address() net.Addr { return s.listener.Addr() }

// Run serves until the context ends, then drains. It keeps the certificate meanwhile.
func (s *Server) Run(ctx context.Context) error {
	// The certificate may be due while the last requests come in.
	keeping, stopKeeping := context.WithCancel(context.WithoutCancel(ctx))
	defer stopKeeping()
	ended := make(chan error, 2)
	go func() { ended <- s.watch.Start(keeping) }()
	go func() { ended <- s.http.Serve(s.listener) }()
	if s.clients != nil {
		go s.clients.certificates.Run(keeping, 1)
	}
	select {
	case err := <-ended: // neither ends by itself unless it failed
		return errors.Join(errors.New("the webhooks ended"), err, s.http.Close())
	case <-ctx.Done():
	}
	s.draining.Store(true)
	select {
	case err := <-ended:
		return errors.Join(err, s.http.Close())
	case <-time.After(s.drain):
	}
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	s.open.dismiss(finish)
	err := s.http.Shutdown(finish)
	stopKeeping()
	for range 2 {
		if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// newHTTP returns the HTTP server. While the Server drains, each answer closes its connection, so the next request goes
// to another replica.
func (s *Server) newHTTP() *http.Server {
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			control := http.NewResponseController(w) // it fails only if the connection has ended
			_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
			_ = control.SetWriteDeadline(time.Now().Add(bodyTimeout + answerTimeout))
			if s.draining.Load() {
				w.Header().Set("Connection", "close")
			}
			s.mux.ServeHTTP(w, r)
		}),
		MaxHeaderBytes: maxHeader,
		// The shorter of these two bounds the handshake. The handler sets the deadlines of a request.
		ReadHeaderTimeout: idleTimeout, WriteTimeout: handshakeTimeout,
		IdleTimeout: idleTimeout,
		ErrorLog:    slog.NewLogLogger(logr.ToSlogHandler(ctrl.Log.WithName("webhook")), slog.LevelDebug),
		// failed handshakes, mostly
	}
}

// Ready returns nil if API servers get their conversions here, and otherwise why they do not. It is a healthz.Checker.
func (s *Server) Ready(r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	return s.keeper.Trusted(ctx)
}
