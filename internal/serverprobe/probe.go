// SPDX-License-Identifier: Apache-2.0

package serverprobe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	totalTimeout = 10 * time.Second
	// requestTimeout bounds one request; /v1/providers may take 3 s because it calls model servers.
	requestTimeout = 6 * time.Second
	// maxLargeResponses bounds the responses above smallBody in memory, separately for slow servers; largeTimeout bounds
	// reading one.
	maxLargeResponses = 4
	largeTimeout      = 2 * time.Second
)

// Server is a server to probe.
type Server struct {
	// URL is the scheme, address and port, such as http://10.96.0.7:8321.
	URL string
	// Trust verifies the certificate; nil disables verification.
	Trust *Trust
	// Lists are the paths of further lists to read, by name.
	Lists map[string]string
	// Stores are the paths of requests that read a store of the server, by the name of its storage backend.
	Stores map[string]string
	// Slow selects the slots for large responses of slow servers.
	Slow bool
}

// Observation is the reported state of a server.
type Observation struct {
	// Version is the release of the server.
	Version string
	// Providers are the unique providers, sorted by API and id; invalid if ProvidersHidden.
	Providers []Provider
	// Ignored is the number of invalid, duplicate or excess entries missing from Providers.
	Ignored int
	// ProvidersHidden is true if listing providers needs authentication.
	ProvidersHidden bool
	// Models are the models.
	Models List
	// Lists are the results of Server.Lists, by name.
	Lists map[string]List
	// Stores are the results of Server.Stores, by the name of the storage backend.
	Stores map[string]StoreResult
}

// Renamed returns a copy with every text from the server replaced by name.
func (o *Observation) Renamed(name func(string) string) *Observation {
	renamed := *o
	renamed.Version = name(o.Version)
	renamed.Providers = slices.Clone(o.Providers)
	for i, p := range o.Providers {
		renamed.Providers[i] = Provider{API: name(p.API), ID: name(p.ID), Type: name(p.Type)}
	}
	renamed.Models = o.Models.renamed(name)
	renamed.Lists = maps.Clone(o.Lists)
	for kind, list := range o.Lists {
		renamed.Lists[kind] = list.renamed(name)
	}
	return &renamed
}

// List is a list of one kind of resource.
type List struct {
	// Entries are the unique entries, sorted by provider and name; invalid if Unknown is set.
	Entries []Entry
	// Truncated is true if the server has more entries: invalid, excess or on another page.
	Truncated bool
	// Error is the error of reading the list; empty on success.
	Error string
	// Hidden is true if listing needs authentication.
	Hidden bool
}

func (l List) renamed(name func(string) string) List {
	l.Entries = slices.Clone(l.Entries)
	for i, e := range l.Entries {
		l.Entries[i] = Entry{Provider: name(e.Provider), Name: name(e.Name)}
	}
	return l
}

// Entry is one entry of a list; Provider may be empty.
type Entry struct {
	Provider, Name string
}

// Provider is a provider of a server.
type Provider struct {
	API, ID, Type string
}

// Client probes servers. It is safe for concurrent use.
type Client struct {
	dialer net.Dialer
	// large has the slots for responses above smallBody, largeOfSlow those for slow servers.
	large, largeOfSlow *semaphore.Weighted
	// decoding serializes decoding, which needs a multiple of the response's size.
	decoding sync.Mutex
}

// New returns a Client.
func New() *Client {
	return &Client{large: semaphore.NewWeighted(maxLargeResponses), largeOfSlow: semaphore.NewWeighted(maxLargeResponses)}
}

func (c *Client) slots(server Server) *semaphore.Weighted {
	if server.Slow {
		return c.largeOfSlow
	}
	return c.large
}

// versionPath reports the version without credentials.
const versionPath = "/v1/version"

// Probe probes a server for up to ten seconds, and each of its stores for storeTimeout more. It fails only if the
// version or the providers cannot be read.
func (c *Client) Probe(ctx context.Context, server Server) (*Observation, error) {
	at, err := c.target(server)
	if err != nil {
		return nil, err
	}
	o, err := c.report(ctx, at, server.Lists)
	if err != nil {
		return nil, err
	}
	o.Stores = c.stores(ctx, at, server.Stores)
	return o, nil
}

func (c *Client) target(server Server) (*target, error) {
	base, err := url.Parse(server.URL)
	if err != nil {
		return nil, fmt.Errorf("parse the server URL: %w", err)
	}
	return &target{base: base, trust: server.Trust, slots: c.slots(server)}, nil
}

// report reads what the server reports of itself.
func (c *Client) report(ctx context.Context, at *target, lists map[string]string) (*Observation, error) {
	ctx, cancel := context.WithTimeout(ctx, totalTimeout)
	defer cancel()
	o := &Observation{}
	err := c.get(ctx, at, versionPath, func(body []byte) (err error) {
		o.Version, err = readVersion(body)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = c.get(ctx, at, "/v1/providers", func(body []byte) (err error) {
		o.Providers, o.Ignored, err = readProviders(body)
		return err
	})
	switch {
	case errors.Is(err, errUnauthorized):
		o.ProvidersHidden = true
	case err != nil:
		return nil, err
	}
	o.Models = c.list(ctx, at, "/v1/models", readModels)
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		if o.Lists == nil {
			o.Lists = map[string]List{}
		}
		o.Lists[name] = c.list(ctx, at, lists[name], readList)
	}
	return o, nil
}

// list reads a list; errors are stored in the List.
func (c *Client) list(ctx context.Context, at *target, path string, read func([]byte) (List, error)) (l List) {
	err := c.get(ctx, at, path, func(body []byte) (err error) {
		l, err = read(body)
		return err
	})
	if err != nil {
		return List{Error: err.Error(), Hidden: errors.Is(err, errUnauthorized)}
	}
	return l
}
