// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/internal/lanes"
)

const (
	// totalTimeout bounds everything that is asked of a server at once.
	totalTimeout = 10 * time.Second
	// requestTimeout bounds one request and its answer. /v1/providers asks model servers in its turn, for up to 3 s.
	requestTimeout = 6 * time.Second
	// maxLargeAnswers bounds how many answers over smallBody are held in memory at once, of slow servers and of others each, and
	// maxLargePerLane those of one lane. largeTimeout bounds how long one is read: the server has begun to send it, and anyone who sends
	// slowly would keep others from a place.
	maxLargeAnswers = 4
	maxLargePerLane = 1
	largeTimeout    = 2 * time.Second
)

// Server is a server to ask.
type Server struct {
	// URL is its scheme, address and port, such as http://10.96.0.7:8321.
	URL string
	// Trust verifies the server's certificate; nil where nobody knows the certificate, which is then not verified.
	Trust *Trust
	// Lane names those with whom it shares the places for large answers: its namespace.
	Lane string
	// Slow is true where its answers take long: it shares these places with slow servers alone.
	Slow bool
}

// Observation is what a server says about itself.
type Observation struct {
	// Version is the server's release.
	Version string
	// Providers are the providers it lists, each API and id once, sorted by both; meaningless while ProvidersHidden.
	Providers []Provider
	// LeftOut is how many entries of its list are not among Providers: too many, too long, unprintable, without a name, or a second
	// time the same.
	LeftOut int
	// ProvidersHidden is true where the server lists its providers only for authenticated users.
	ProvidersHidden bool
	// Models are the models it lists, each name once, sorted by provider and name; meaningless where ModelsUnknown is not empty.
	Models []Model
	// ModelsUnknown says why it did not list its models; empty where it did.
	ModelsUnknown string
}

// Model is one model of a server.
type Model struct {
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
	large, largeOfSlow *lanes.Lanes
	// decoding is held while an answer is decoded, which takes milliseconds and a multiple of its size.
	decoding sync.Mutex
}

// New returns a Client.
func New() *Client {
	return &Client{large: lanes.New(maxLargeAnswers, maxLargePerLane), largeOfSlow: lanes.New(maxLargeAnswers, maxLargePerLane)}
}

// places is where a server waits to send a large answer.
func (c *Client) places(server Server) places {
	if server.Slow {
		return places{c.largeOfSlow, server.Lane}
	}
	return places{c.large, server.Lane}
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
	// This is for information: what fails here spoils nothing.
	err = c.get(ctx, at, "/v1/models", func(body []byte) (err error) {
		o.Models, err = readModels(body)
		return err
	})
	if err != nil {
		o.ModelsUnknown = err.Error()
	}
	return o, nil
}
