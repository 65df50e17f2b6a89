// SPDX-License-Identifier: Apache-2.0

package imagelabels

import (
	"crypto/x509"
	"net/http"
	"net/url"
	"os"
	"strings"

	"golang.org/x/net/http/httpproxy"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
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
	if r.Proxy != nil {
		o.Proxy = proxyOf(r.Proxy)
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

// proxyOf returns the proxy of a request by the operator's settings, and by its environment for absent fields.
// Registries inside the cluster get no proxy.
func proxyOf(p *v1alpha2.ProxySpec) func(*http.Request) (*url.URL, error) {
	config := httpproxy.FromEnvironment()
	config.HTTPProxy = ptr.Deref(p.HTTPProxy, config.HTTPProxy)
	config.HTTPSProxy = ptr.Deref(p.HTTPSProxy, config.HTTPSProxy)
	config.NoProxy = strings.Join([]string{
		ptr.Deref(p.NoProxy, config.NoProxy), ".svc", ".cluster.local", os.Getenv("KUBERNETES_SERVICE_HOST"),
	}, ",")
	proxy := config.ProxyFunc()
	return func(request *http.Request) (*url.URL, error) { return proxy(request.URL) }
}
