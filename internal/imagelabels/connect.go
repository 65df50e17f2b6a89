// SPDX-License-Identifier: Apache-2.0

package imagelabels

import (
	"crypto/x509"
	"reflect"
	"sync"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Connector makes clients for the operator's settings.
type Connector interface {
	// Client returns the client for the settings.
	Client(r *settings.Registries) Registry
	// Differ reports whether two settings need different clients.
	Differ(a, b *settings.Registries) bool
}

// Clients makes clients that ask real registries. The zero value is ready.
type Clients struct {
	// UserAgent is what they call themselves.
	UserAgent string
	// Own are the credentials for questions that have none for the registry.
	Own authn.Keychain
	// Trusted are registries that may lead to hosts with private addresses, as those do that the settings name; nil trusts no other.
	Trusted func(registry string) bool

	mu     sync.Mutex
	last   *settings.Registries
	client *registry.Client
}

// Client returns the client for the settings: the last one while they stay the same, so that connections are used again.
func (c *Clients) Client(r *settings.Registries) Registry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == nil || c.Differ(c.last, r) {
		options := ClientOptions(r, c.UserAgent)
		options.Own, options.Trusted = c.Own, c.Trusted
		c.last, c.client = r, registry.New(options)
	}
	return c.client
}

// Differ reports whether two settings need different clients.
func (*Clients) Differ(a, b *settings.Registries) bool { return a != b && !reflect.DeepEqual(a, b) }

// ClientOptions are the options of a client for the operator's settings.
func ClientOptions(r *settings.Registries, userAgent string) registry.Options {
	o := registry.Options{PlainHTTP: r.PlainHTTP, Allowed: r.Allowed, Local: r.Named(), UserAgent: userAgent, Locations: r.Locations}
	if r.CACertificates != "" {
		system, err := x509.SystemCertPool() // it reads SSL_CERT_FILE and SSL_CERT_DIR
		if err != nil {
			system = x509.NewCertPool()
		}
		o.CACertificates = r.Pool(system)
	}
	return o
}
