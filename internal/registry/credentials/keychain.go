// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"regexp"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
)

// askTimeout bounds one question to a cloud.
const askTimeout = 15 * time.Second

// Keychain has the credentials of clouds for one question to a registry: it asks each cloud once.
type Keychain struct {
	clouds []cloud

	mu    sync.Mutex
	asked map[string]authn.AuthConfig
}

// cloud gives credentials for the registries of some hosts.
type cloud struct {
	hosts *regexp.Regexp
	ask   func(ctx context.Context, host string) (authn.AuthConfig, error)
}

// New makes a keychain.
func New() *Keychain {
	return &Keychain{
		clouds: []cloud{{amazonHosts, amazon}, {googleHosts, google}, {azureHosts, azure{client: newClient()}.ask}},
		asked:  map[string]authn.AuthConfig{},
	}
}

// Resolve returns the credentials for a registry.
func (k *Keychain) Resolve(target authn.Resource) (authn.Authenticator, error) {
	return k.ResolveContext(context.Background(), target)
}

// ResolveContext returns the credentials for a registry: none for one of no cloud, and where its cloud gives none. It
// returns when the context ends, although a cloud's library may take longer.
func (k *Keychain) ResolveContext(ctx context.Context, target authn.Resource) (authn.Authenticator, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	host := target.RegistryStr()
	for _, c := range k.clouds {
		if !c.hosts.MatchString(host) {
			continue
		}
		found, known := k.asked[host]
		if !known {
			found = ask(ctx, c, host)
			k.asked[host] = found
		}
		if found != (authn.AuthConfig{}) {
			return authn.FromConfig(found), nil
		}
	}
	return authn.Anonymous, nil
}

// Knows reports whether a registry is one of a cloud, which no user of the cloud runs.
func Knows(registry string) bool {
	return amazonHosts.MatchString(registry) || googleHosts.MatchString(registry) || azureHosts.MatchString(registry)
}

// ask returns no credentials if the cloud gives none in its time.
func ask(ctx context.Context, c cloud, host string) authn.AuthConfig {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answers := make(chan authn.AuthConfig, 1)
	go func() {
		found, err := c.ask(ctx, host)
		if err != nil {
			found = authn.AuthConfig{}
		}
		answers <- found
	}()
	select {
	case found := <-answers:
		return found
	case <-ctx.Done():
		return authn.AuthConfig{}
	}
}
