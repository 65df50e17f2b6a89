// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	// healthTimeout bounds a request of a probe, and the end of its server.
	healthTimeout = 5 * time.Second
	maxHeader     = 4 << 10
)

// healthServer serves /healthz and /readyz. It is not the manager's, so that probes are answered while there is none.
func healthServer(address string, ready map[string]healthz.Checker) func(context.Context) error {
	if address == off {
		return untilTheEnd
	}
	mux := http.NewServeMux()
	for path, checks := range map[string]map[string]healthz.Checker{"/healthz": {"ping": healthz.Ping}, "/readyz": ready} {
		handler := http.StripPrefix(path, &healthz.Handler{Checks: checks})
		mux.Handle(path, handler)
		mux.Handle(path+"/", handler)
	}
	shutdown := healthTimeout
	return (&manager.Server{
		Name: "health probes", ShutdownTimeout: &shutdown,
		Server: &http.Server{
			Addr: address, Handler: mux, MaxHeaderBytes: maxHeader,
			ReadTimeout: healthTimeout, WriteTimeout: healthTimeout, IdleTimeout: time.Minute,
		},
	}).Start
}

// metricsServer serves /metrics by HTTPS, to those whom the API server knows and lets "get" it.
func metricsServer(config *rest.Config, f *flags) (func(context.Context) error, error) {
	if f.metricsAddress == off {
		return untilTheEnd, nil
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	server, err := metricsserver.NewServer(metricsserver.Options{
		BindAddress: f.metricsAddress, SecureServing: true, CertDir: f.metricsCertificate,
		FilterProvider: filters.WithAuthenticationAndAuthorization,
	}, config, httpClient)
	if err != nil {
		return nil, err
	}
	return server.Start, nil
}

func untilTheEnd(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
