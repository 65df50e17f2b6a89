// SPDX-License-Identifier: Apache-2.0

package imagelabels

import (
	"crypto/x509"

	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/credentials"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Connect returns a function that makes a client for one request, with cloud credentials of the operator. onRead is
// called after each operation with its error; nil is not called.
func Connect(userAgent string, onRead func(question string, err error)) func(*settings.Registries) Registry {
	limits := registry.NewLimits()
	return func(r *settings.Registries) Registry {
		options := ClientOptions(r, userAgent)
		options.Fallback, options.Trusted = credentials.New(), credentials.Supports
		options.Limits, options.OnRead = limits, onRead
		return registry.New(options)
	}
}

// ClientOptions returns client options for the operator's settings.
func ClientOptions(r *settings.Registries, userAgent string) registry.Options {
	o := registry.Options{
		PlainHTTP: r.PlainHTTP, Allowed: r.Allowed, Local: r.Hosts(), UserAgent: userAgent, Locations: r.Locations,
	}
	if r.CACertificates != "" {
		system, err := x509.SystemCertPool() // honors SSL_CERT_FILE and SSL_CERT_DIR
		if err != nil {
			system = x509.NewCertPool()
		}
		o.CACertificates = r.Pool(system)
	}
	return o
}
