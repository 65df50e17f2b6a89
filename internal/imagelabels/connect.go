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

// Clients makes clients that ask real registries. The zero value is ready.
type Clients struct {
	// UserAgent is what they call themselves.
	UserAgent string
	// Own are the credentials for questions that have none for the registry.
	Own authn.Keychain
	// Trusted reports registries that may lead to hosts with private addresses, in addition to those that the settings
	// name; nil trusts no other.
	Trusted func(registry string) bool

	mu     sync.Mutex
	last   *settings.Registries
	client *registry.Client
}

// Client returns the client for the settings: the last one while they are the same, which reuses connections.
func (c *Clients) Client(r *settings.Registries) Registry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == nil || c.last != r && !reflect.DeepEqual(c.last, r) {
		options := ClientOptions(r, c.UserAgent)
		options.Own, options.Trusted = c.Own, c.Trusted
		c.last, c.client = r, registry.New(options)
	}
	return c.client
}

// ClientOptions are the options of a client for the operator's settings.
func ClientOptions(r *settings.Registries, userAgent string) registry.Options {
	o := registry.Options{
		PlainHTTP: r.PlainHTTP, Allowed: r.Allowed, Local: r.Named(), UserAgent: userAgent, Locations: r.Locations,
	}
	if r.CACertificates != "" {
		system, err := x509.SystemCertPool() // it reads SSL_CERT_FILE and SSL_CERT_DIR
		if err != nil {
			system = x509.NewCertPool()
		}
		o.CACertificates = r.Pool(system)
	}
	return o
}
