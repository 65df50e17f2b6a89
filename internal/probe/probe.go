// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/internal/fault"
)

const (
	// timeout bounds one request.
	timeout = 5 * time.Second
	// maxBody bounds an answer, in bytes.
	maxBody = 1 << 20
	// maxText bounds each text that is taken from an answer, in bytes.
	maxText = 256
	// maxProviders bounds the list; no release has a fifth of it.
	maxProviders = 256
)

// Observation is what a server says about itself.
type Observation struct {
	// Version is the server's release.
	Version string
	// Providers are the providers it lists, sorted by API and id; meaningless while ProvidersHidden.
	Providers []Provider
	// ProvidersHidden is true where the server lists its providers only for authenticated users.
	ProvidersHidden bool
}

// Provider is one provider of a server.
type Provider struct {
	API, ID, Type string
}

// Client asks servers.
type Client struct{ http *http.Client }

// New returns a Client.
func New() *Client {
	return &Client{http: &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: nil, DisableKeepAlives: true,
			// Nobody tells which authority has signed for the server, and nothing that is sent needs protection. What is answered counts
			// as little as it does without TLS.
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
		},
	}}
}

// errUnauthorized: the server wants credentials, which the operator does not have.
var errUnauthorized = errors.New("the server wants credentials")

// Ask asks the server at the base URL, such as http://my-stack-service.my-ns.svc:8321.
func (c *Client) Ask(ctx context.Context, baseURL string) (*Observation, error) {
	var version struct {
		Version string `json:"version"`
	}
	if err := c.get(ctx, baseURL+"/v1/version", &version); err != nil {
		return nil, err
	}
	var list struct {
		Data []struct {
			API  string `json:"api"`
			ID   string `json:"provider_id"`
			Type string `json:"provider_type"`
		} `json:"data"`
	}
	o := &Observation{Version: clip(version.Version)}
	switch err := c.get(ctx, baseURL+"/v1/providers", &list); {
	case errors.Is(err, errUnauthorized):
		o.ProvidersHidden = true
	case err != nil:
		return nil, err
	}
	for _, p := range list.Data[:min(len(list.Data), maxProviders)] {
		o.Providers = append(o.Providers, Provider{API: clip(p.API), ID: clip(p.ID), Type: clip(p.Type)})
	}
	slices.SortFunc(o.Providers, func(a, b Provider) int {
		return strings.Compare(a.API+"\x00"+a.ID, b.API+"\x00"+b.ID)
	})
	return o, nil
}

func (c *Client) get(ctx context.Context, url string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("GET %s: %w", url, err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("GET %s: %w", url, fault.Stable(err))
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("GET %s: %w", url, errUnauthorized)
	default:
		return fmt.Errorf("GET %s: the server answers %s", url, response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxBody)).Decode(into); err != nil {
		return fmt.Errorf("GET %s: the answer is not the expected JSON: %w", url, err)
	}
	return nil
}

func clip(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxText)], "") }
