// SPDX-License-Identifier: Apache-2.0

package cloudkeys

import (
	"context"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
)

const (
	// askTimeout bounds one question to a cloud.
	askTimeout = 15 * time.Second
	// early is how long before their end credentials are asked for again.
	early = 5 * time.Minute
	// without is how long nobody asks a cloud again that gave nothing, or no answer in its time.
	without = 5 * time.Minute
	// maxKept bounds the registries whose credentials are kept.
	maxKept = 1000
)

// Keychain has the credentials of clouds. It may be used by several goroutines at once.
type Keychain struct {
	clouds []cloud
	now    func() time.Time

	mu   sync.Mutex
	kept map[string]credentials
}

// cloud gives credentials for the registries of some hosts.
type cloud struct {
	hosts *regexp.Regexp
	ask   func(ctx context.Context, host string) (credentials, error)
}

// credentials are for one registry; the zero value of the authenticator stands for none.
type credentials struct {
	config  authn.AuthConfig
	expires time.Time
}

// New makes a keychain.
func New() *Keychain {
	return &Keychain{
		clouds: []cloud{{amazonHosts, amazon}, {googleHosts, google}, {azureHosts, azure{client: newClient()}.ask}},
		now:    time.Now, kept: map[string]credentials{},
	}
}

// Resolve returns the credentials for a registry.
func (k *Keychain) Resolve(target authn.Resource) (authn.Authenticator, error) {
	return k.ResolveContext(context.Background(), target)
}

// ResolveContext returns the credentials for a registry: none for one of no cloud, and where its cloud gives none. It returns when the context ends, although
// a cloud's library may take longer.
func (k *Keychain) ResolveContext(ctx context.Context, target authn.Resource) (authn.Authenticator, error) {
	host := target.RegistryStr()
	for _, c := range k.clouds {
		if !c.hosts.MatchString(host) {
			continue
		}
		found, there := k.lookUp(host)
		if !there {
			found = k.ask(ctx, c, host)
		}
		if found.config == (authn.AuthConfig{}) {
			break
		}
		return authn.FromConfig(found.config), nil
	}
	return authn.Anonymous, nil
}

// Knows reports whether a registry is one of a cloud, which no user of the cloud runs.
func (k *Keychain) Knows(registry string) bool {
	return slices.ContainsFunc(k.clouds, func(c cloud) bool { return c.hosts.MatchString(registry) })
}

func (k *Keychain) lookUp(host string) (credentials, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found, there := k.kept[host]
	return found, there && k.now().Before(found.expires)
}

// ask asks a cloud and keeps what it gave. Nothing is kept where the caller's context ended first, which says nothing of the cloud.
func (k *Keychain) ask(ctx context.Context, c cloud, host string) credentials {
	limited, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answers := make(chan credentials, 1)
	go func() {
		found, err := c.ask(limited, host)
		if err != nil {
			found = credentials{}
		}
		answers <- found
	}()
	var found credentials // none of a cloud that gives no answer in its time
	select {
	case found = <-answers:
	case <-limited.Done():
	}
	if ctx.Err() != nil && found.config == (authn.AuthConfig{}) {
		return credentials{}
	}
	return k.keep(host, found)
}

func (k *Keychain) keep(host string, found credentials) credentials {
	found.expires = found.expires.Add(-early)
	if soonest := k.now().Add(without); found.expires.Before(soonest) {
		found.expires = soonest
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.kept) >= maxKept {
		clear(k.kept)
	}
	k.kept[host] = found
	return found
}
