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
	// totalTimeout bounds everything that is asked of a server at once.
	totalTimeout = 10 * time.Second
	// requestTimeout bounds one request and its answer. /v1/providers asks model servers in its turn, for up to 3 s.
	requestTimeout = 6 * time.Second
	// maxLargeAnswers bounds how many answers over smallBody are held in memory at once, of slow servers and of others
	// each. largeTimeout bounds how long one is read: a server that sends slowly would keep others from a place.
	maxLargeAnswers = 4
	largeTimeout    = 2 * time.Second
)

// Server is a server to ask.
type Server struct {
	// URL is its scheme, address and port, such as http://10.96.0.7:8321.
	URL string
	// Trust verifies the server's certificate; nil where nobody knows the certificate, which is then not verified.
	Trust *Trust
	// Lists are the paths of further lists to ask for, by any names, of those that the server's release has.
	Lists map[string]string
	// Slow is true if its answers take long: it shares the places for large answers with slow servers alone.
	Slow bool
}

// Observation is what a server says about itself.
type Observation struct {
	// Version is the server's release.
	Version string
	// Providers are the providers it lists, each API and id once, sorted by both; meaningless while ProvidersHidden.
	Providers []Provider
	// LeftOut is how many entries of its list are not among Providers: too many, too long, unprintable, without a name, or
	// a second time the same.
	LeftOut int
	// ProvidersHidden is true where the server lists its providers only for authenticated users.
	ProvidersHidden bool
	// Models are the models it lists.
	Models List
	// Lists are the answers to Server.Lists, by the same names.
	Lists map[string]List
}

// Renamed returns a copy with another name in the place of each that the server sent: its version, and all names and
// types of its lists.
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

// List is what a server lists of one kind.
type List struct {
	// Entries are what it lists, each name once, sorted by provider and name; meaningless where Unknown is not empty.
	Entries []Entry
	// Cut is true where it lists more than Entries: too many, too long, unprintable, without a name, or on another page.
	Cut bool
	// Unknown says why it did not list anything; empty where it did.
	Unknown string
	// Hidden is true where that is because it lists them only for authenticated users.
	Hidden bool
}

func (l List) renamed(name func(string) string) List {
	l.Entries = slices.Clone(l.Entries)
	for i, e := range l.Entries {
		l.Entries[i] = Entry{Provider: name(e.Provider), Name: name(e.Name)}
	}
	return l
}

// Entry is one entry of a list. Provider is empty where the server does not say who serves it.
type Entry struct {
	Provider, Name string
}

// Provider is one provider of a server.
type Provider struct {
	API, ID, Type string
}

// Client asks servers. It can be used by many goroutines at once.
type Client struct {
	dialer net.Dialer
	// large has places for the answers over smallBody, largeOfSlow for those of slow servers.
	large, largeOfSlow *semaphore.Weighted
	// decoding is held while an answer is decoded, which takes milliseconds and a multiple of its size.
	decoding sync.Mutex
}

// New returns a Client.
func New() *Client {
	return &Client{large: semaphore.NewWeighted(maxLargeAnswers), largeOfSlow: semaphore.NewWeighted(maxLargeAnswers)}
}

// places returns the places for large answers of a server.
func (c *Client) places(server Server) *semaphore.Weighted {
	if server.Slow {
		return c.largeOfSlow
	}
	return c.large
}

// Ask asks a server. It takes up to ten seconds.
func (c *Client) Ask(ctx context.Context, server Server) (*Observation, error) {
	base, err := url.Parse(server.URL)
	if err != nil {
		return nil, fmt.Errorf("the address of the server: %w", err)
	}
	at := &target{base: base, trust: server.Trust, places: c.places(server)}
	ctx, cancel := context.WithTimeout(ctx, totalTimeout)
	defer cancel()
	o := &Observation{}
	err = c.get(ctx, at, "/v1/version", func(body []byte) (err error) {
		o.Version, err = readVersion(body)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = c.get(ctx, at, "/v1/providers", func(body []byte) (err error) {
		o.Providers, o.LeftOut, err = readProviders(body)
		return err
	})
	switch {
	case errors.Is(err, errUnauthorized):
		o.ProvidersHidden = true
	case err != nil:
		return nil, err
	}
	o.Models = c.list(ctx, at, "/v1/models", readModels)
	for _, name := range slices.Sorted(maps.Keys(server.Lists)) {
		if o.Lists == nil {
			o.Lists = map[string]List{}
		}
		o.Lists[name] = c.list(ctx, at, server.Lists[name], readList)
	}
	return o, nil
}

// list asks for one list. It is for information: what fails here spoils nothing.
func (c *Client) list(ctx context.Context, at *target, path string, read func([]byte) (List, error)) (l List) {
	err := c.get(ctx, at, path, func(body []byte) (err error) {
		l, err = read(body)
		return err
	})
	if err != nil {
		return List{Unknown: err.Error(), Hidden: errors.Is(err, errUnauthorized)}
	}
	return l
}
