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

	"github.com/llamastack/llama-stack-k8s-operator/internal/certificate"
	"github.com/llamastack/llama-stack-k8s-operator/internal/connections"
)

const (
	// DefaultDrain is how long the Server goes on after it was told to end. Nodes hear of an ending pod within a second
	// or two.
	DefaultDrain = 5 * time.Second

	// elsewhere is sent after that on connections on which nothing was asked meanwhile. An API server sends its next request on any of them. It does not
	// repeat one that meets the end of its connection, but it repeats one that is answered like this. Where it has no request, it closes the connection, and
	// logs that an answer came unasked.
	elsewhere = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\nRetry-After: 0\r\n\r\n"
	// dismissTimeout is how long API servers have to close these connections.
	dismissTimeout = time.Second

	// finishTimeout bounds how long requests that have begun may take after that.
	finishTimeout = 10 * time.Second
	// idleTimeout is longer than the API server's own, so that it is not the Server who closes a connection on which a
	// request is about to be sent, the first one or the next.
	idleTimeout = 3 * time.Minute
	// headerTimeout bounds a handshake, and how long a client may take to send the header of a request, from its first byte on; readTimeout and writeTimeout
	// bound everything, the Intake bounds bodies and answers more narrowly.
	headerTimeout = 5 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = time.Minute
	maxHeader     = 16 << 10
	// maxConnections is how many connections there may be; a further one takes the place of one on which nothing is asked.
	maxConnections = 256

	alivePath = "/alive"
)

// Options are the choices of a Server.
type Options struct {
	// Address is where to listen.
	Address string
	// Namespace is the operator's own.
	Namespace string
	// Managed says that the operator makes the certificates itself.
	Managed bool
	// ClientCAFile is a file with the CA certificates of clients that may send those kinds of review with which an API server can
	// show a certificate; empty means that everyone may.
	ClientCAFile string
	// Clock is the API server's; nil means this machine's.
	Clock *certificate.Clock
	// Lifetimes and Drain differ from the defaults in tests alone.
	Lifetimes certificate.Lifetimes
	Drain     time.Duration
}

// Server serves the webhooks of one replica.
type Server struct {
	watch     *certificate.Watch
	served    *certificate.Served
	readiness *readiness
	mux       *http.ServeMux
	intake    *Intake
	// clients is nil where everyone may send reviews.
	clients  *clients
	listener net.Listener
	open     *connections.Listener
	http     *http.Server
	drain    time.Duration
	draining atomic.Bool
}

// Listen makes a Server and takes its port. Run must follow.
func Listen(ctx context.Context, config *rest.Config, o Options) (*Server, error) {
	served := &certificate.Served{}
	keeper := &certificate.Keeper{Namespace: o.Namespace, Managed: o.Managed, Lifetimes: o.Lifetimes, Served: served}
	if o.Clock != nil {
		keeper.Clock = o.Clock
	}
	s := &Server{mux: http.NewServeMux(), intake: NewIntake(), drain: o.Drain, served: served}
	var err error
	if s.watch, err = certificate.NewWatch(config, keeper); err != nil {
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
	s.readiness = newReadiness(keeper.ConversionTrust, served.GetCertificate, keeper.Now, listener.Addr())
	s.open = connections.Limit(listener, maxConnections, idleTimeout)
	s.listener = tls.NewListener(s.open, &tls.Config{
		MinVersion: tls.VersionTLS12, GetCertificate: served.GetCertificate, ClientAuth: ask,
		NextProtos: []string{"http/1.1"}, // all that API servers use for webhooks
	})
	s.http = &http.Server{
		Handler: s.closeConnections(s.mux), MaxHeaderBytes: maxHeader,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(ctrl.Log.WithName("webhook")), slog.LevelDebug), // failed handshakes, mostly
	}
	connections.Observe(s.http)
	s.Handle(Conversion())
	s.mux.HandleFunc(alivePath, func(http.ResponseWriter, *http.Request) {})
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
	go func() { ended <- s.watch.Run(keeping) }()
	go func() { ended <- s.http.Serve(s.listener) }()
	go s.readiness.run(ctx)
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
	s.open.Dismiss([]byte(elsewhere), dismissTimeout)
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	err := s.http.Shutdown(finish)
	stopKeeping()
	for range 2 {
		if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// closeConnections closes connections with an answer while the Server drains, so that their next requests go to another replica, and
// while there are many. A connection that is closed at any other time can lose a request that is on its way.
func (s *Server) closeConnections(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.draining.Load() || s.open.Crowded() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// Ready returns nil once the API server gets its conversions here, and otherwise why it does not. It is a healthz.Checker, and
// costs nothing: the check itself runs in the background.
func (s *Server) Ready(*http.Request) error { return s.readiness.result() }
