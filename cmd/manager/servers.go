// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/llamastack/llama-stack-k8s-operator/internal/manager/permission"
	"github.com/llamastack/llama-stack-k8s-operator/internal/manager/tlsprofile"
	"github.com/llamastack/llama-stack-k8s-operator/internal/webhook"
)

// Limits for clients of metrics and probes, whose ports are open to others without a NetworkPolicy.
const (
	// requestTimeout bounds the handshake, a request's arrival and a probe's response; metricsTimeout that with metrics.
	requestTimeout = 5 * time.Second
	metricsTimeout = 30 * time.Second
	idleTimeout    = time.Minute
	// maxHeader is the largest header in bytes; a token has one or two kilobytes.
	maxHeader = 8 << 10
	// maxConnections bounds the connections of each port.
	maxConnections = 64
)

// serve serves a handler until the context ends, with the timeout for a response, over plain HTTP if the TLS config is
// nil.
func serve(ctx context.Context, name, address string, tlsConfig *tls.Config, writeTimeout time.Duration,
	handler http.Handler) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen for %s: %w", name, err)
	}
	server := &http.Server{
		Handler: handler, MaxHeaderBytes: maxHeader, ReadTimeout: requestTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout,
		ErrorLog:    slog.NewLogLogger(logr.ToSlogHandler(ctrl.Log.WithName(name)), slog.LevelDebug),
		// mostly failed handshakes
	}
	listener, _ = webhook.LimitConnections(server, listener, maxConnections)
	if tlsConfig != nil {
		listener = tls.NewListener(listener, tlsConfig)
	}
	shutdown := requestTimeout
	return (&manager.Server{Name: name, Server: server, Listener: listener, ShutdownTimeout: &shutdown}).Start(ctx)
}

// healthServer returns the server of /healthz and /readyz, which also runs between two managers.
func healthServer(address string, ready map[string]healthz.Checker) func(context.Context) error {
	if address == disabled {
		return waitForEnd
	}
	mux := http.NewServeMux()
	for path, checks := range map[string]map[string]healthz.Checker{"/healthz": {"ping": healthz.Ping}, "/readyz": ready} {
		handler := http.StripPrefix(path, &healthz.Handler{Checks: checks})
		mux.Handle(path, handler)
		mux.Handle(path+"/", handler)
	}
	return func(ctx context.Context) error { return serve(ctx, "health probes", address, nil, requestTimeout, mux) }
}

// metricsServer returns the server of /metrics over HTTPS, for authorized clients. controller-runtime's has no limit of
// connections, headers of 1 MiB and HTTP/2.
func metricsServer(config *rest.Config, f *flags, profile *tlsprofile.Follower) (func(context.Context) error, error) {
	if f.metricsAddress == disabled {
		return waitForEnd, nil
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	reviewer, err := permission.New(config, httpClient)
	if err != nil {
		return nil, err
	}
	handler := reviewer.Authorize(ctrl.Log.WithName("metrics"),
		promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{}))
	secure, watch, err := metricsTLS(f.metricsCertificate)
	if err != nil {
		return nil, fmt.Errorf("certificate of the metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", handler)
	return func(ctx context.Context) error {
		return runAll(ctx, watch, func(ctx context.Context) error {
			return serve(ctx, "metrics", f.metricsAddress, profile.Secure(secure), metricsTimeout, mux)
		})
	}, nil
}

// metricsTLS returns the TLS config with the certificate in the directory, which the second result watches, or a
// self-signed one.
func metricsTLS(directory string) (*tls.Config, func(context.Context) error, error) {
	tlsConfig := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	if directory != "" {
		watcher, err := certwatcher.New(filepath.Join(directory, corev1.TLSCertKey),
			filepath.Join(directory, corev1.TLSPrivateKeyKey))
		if err == nil {
			tlsConfig.GetCertificate = watcher.GetCertificate
			return tlsConfig, func(ctx context.Context) error {
				if err := watcher.Start(ctx); err != nil { // the loaded certificate stays in use
					ctrl.Log.WithName("metrics").Error(err, "stopped watching the certificate")
					<-ctx.Done()
				}
				return nil
			}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
	}
	certificate, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{{127, 0, 0, 1}}, nil)
	if err != nil {
		return nil, nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	tlsConfig.Certificates = []tls.Certificate{pair}
	return tlsConfig, waitForEnd, err
}

func waitForEnd(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
