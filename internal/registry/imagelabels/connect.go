// SPDX-License-Identifier: Apache-2.0

package imagelabels

import (
	"crypto/x509"

	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/credentials"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Connect returns a function that makes a client for one question, with cloud credentials of the operator. asked is
// called after each question with its error; nil is not called.
func Connect(userAgent string, asked func(question string, err error)) func(*settings.Registries) Registry {
	limits := registry.NewLimits()
	return func(r *settings.Registries) Registry {
		options := ClientOptions(r, userAgent)
		options.Own, options.Trusted, options.Limits, options.Asked = credentials.New(), credentials.Knows, limits, asked
		return registry.New(options)
	}
}

// ClientOptions returns client options for the operator's settings.
func ClientOptions(r *settings.Registries, userAgent string) registry.Options {
	o := registry.Options{
		PlainHTTP: r.PlainHTTP, Allowed: r.Allowed, Local: r.Named(), UserAgent: userAgent, Locations: r.Locations,
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
