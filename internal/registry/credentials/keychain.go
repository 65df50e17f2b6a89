// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"regexp"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
)

const requestTimeout = 15 * time.Second

// Keychain returns cloud credentials. It requests those of each host at most once.
type Keychain struct {
	clouds []cloud

	mu     sync.Mutex
	cached map[string]authn.AuthConfig
}

// cloud issues credentials for registries with matching hosts.
type cloud struct {
	hosts   *regexp.Regexp
	request func(ctx context.Context, host string) (authn.AuthConfig, error)
}

// New returns a Keychain.
func New() *Keychain {
	return &Keychain{
		clouds: []cloud{{amazonHosts, amazon}, {googleHosts, google}, {azureHosts, azure{client: newClient()}.token}},
		cached: map[string]authn.AuthConfig{},
	}
}

// Resolve returns the credentials for a registry.
func (k *Keychain) Resolve(target authn.Resource) (authn.Authenticator, error) {
	return k.ResolveContext(context.Background(), target)
}

// ResolveContext returns the credentials for a registry, or anonymous ones. It returns when the context ends, even if
// the cloud's library is still busy.
func (k *Keychain) ResolveContext(ctx context.Context, target authn.Resource) (authn.Authenticator, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	host := target.RegistryStr()
	for _, c := range k.clouds {
		if !c.hosts.MatchString(host) {
			continue
		}
		found, known := k.cached[host]
		if !known {
			found = request(ctx, c, host)
			k.cached[host] = found
		}
		if found != (authn.AuthConfig{}) {
			return authn.FromConfig(found), nil
		}
	}
	return authn.Anonymous, nil
}

// Supports reports whether the registry belongs to a cloud.
func Supports(registry string) bool {
	return amazonHosts.MatchString(registry) || googleHosts.MatchString(registry) || azureHosts.MatchString(registry)
}

// request returns no credentials on an error or after requestTimeout.
func request(ctx context.Context, c cloud, host string) authn.AuthConfig {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	results := make(chan authn.AuthConfig, 1)
	go func() {
		found, err := c.request(ctx, host)
		if err != nil {
			found = authn.AuthConfig{}
		}
		results <- found
	}()
	select {
	case found := <-results:
		return found
	case <-ctx.Done():
		return authn.AuthConfig{}
	}
}
