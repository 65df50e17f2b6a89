// SPDX-License-Identifier: Apache-2.0

package apiclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/files"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/pki"
)

// maxResponseBytes bounds a response, in bytes: a list of thousands of objects fits.
const maxResponseBytes = 16 << 20

// Client calls a server of the cluster with a client certificate.
type Client struct {
	Server string
	HTTP   *http.Client
}

// New reads ca.crt, <pair>.crt and <pair>.key from a directory.
func New(server, dir, ca, pair string) (*Client, error) {
	var parts [3][]byte
	for i, name := range []string{ca + ".crt", pair + ".crt", pair + ".key"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		parts[i] = data
	}
	return NewTLS(server, parts[0], pki.KeyPair{Cert: parts[1], Key: parts[2]})
}

// NewTLS trusts ca and authenticates with pair, both PEM.
func NewTLS(server string, ca []byte, pair pki.KeyPair) (*Client, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("no certificate in the certificate authority's file")
	}
	certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		return nil, err
	}
	return &Client{Server: server, HTTP: &http.Client{
		Timeout: time.Minute, // a busy machine responds late
		Transport: &http.Transport{TLSClientConfig: &tls.Config{
			RootCAs: roots, Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12,
		}},
	}}, nil
}

// adminKubeconfig has the fields of a kubeconfig that this package writes.
type adminKubeconfig struct {
	Clusters []struct {
		Cluster struct {
			Server string `json:"server"`
			CA     string `json:"certificate-authority-data"`
		} `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		User struct {
			Cert string `json:"client-certificate-data"`
			Key  string `json:"client-key-data"`
		} `json:"user"`
	} `json:"users"`
}

// FromKubeconfig reads a kubeconfig that this package wrote.
func FromKubeconfig(file string) (*Client, error) {
	server, ca, pair, err := ReadKubeconfig(file)
	if err != nil {
		return nil, err
	}
	return NewTLS(server, ca, pair)
}

// ReadKubeconfig parses a kubeconfig with a client certificate.
func ReadKubeconfig(file string) (server string, ca []byte, pair pki.KeyPair, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", nil, pki.KeyPair{}, err
	}
	var parsed adminKubeconfig
	if err := json.Unmarshal(data, &parsed); err != nil {
		return "", nil, pki.KeyPair{}, fmt.Errorf("%s: %w", file, err)
	}
	if len(parsed.Clusters) != 1 || len(parsed.Users) != 1 {
		return "", nil, pki.KeyPair{}, fmt.Errorf("%s: not a kubeconfig of this tool", file)
	}
	user := parsed.Users[0].User
	var decoded [3][]byte
	for i, text := range []string{parsed.Clusters[0].Cluster.CA, user.Cert, user.Key} {
		if decoded[i], err = base64.StdEncoding.DecodeString(text); err != nil {
			return "", nil, pki.KeyPair{}, fmt.Errorf("%s: %w", file, err)
		}
	}
	return parsed.Clusters[0].Cluster.Server, decoded[0], pki.KeyPair{Cert: decoded[1], Key: decoded[2]}, nil
}

// Get decodes the response to a GET into result, unless that is nil.
func (c *Client) Get(ctx context.Context, path string, result any) error {
	return c.do(ctx, http.MethodGet, path, nil, result)
}

// Post sends body as JSON and decodes the response into result, unless that is nil.
func (c *Client) Post(ctx context.Context, path string, body, result any) error {
	return c.do(ctx, http.MethodPost, path, body, result)
}

// Delete deletes the object at path.
func (c *Client) Delete(ctx context.Context, path string) error {
	return c.do(ctx, http.MethodDelete, path, nil, nil)
}

func (c *Client) do(ctx context.Context, method, path string, body, result any) error {
	var payload bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&payload).Encode(body); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.Server+path, &payload)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.HTTP.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxResponseBytes))
	if err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		return &statusError{code: response.StatusCode, body: files.LastLines(string(content), 5)}
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(content, result); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

type statusError struct {
	code int
	body string
}

// IsConflict reports whether a server rejected creating an existing object.
func IsConflict(err error) bool {
	var status *statusError
	return errors.As(err, &status) && status.code == http.StatusConflict
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%d %s: %s", e.code, http.StatusText(e.code), e.body)
}

// ProbeHTTP returns nil if a GET of a plain HTTP URL succeeds.
func ProbeHTTP(ctx context.Context, url string) error {
	// A separate transport uses no proxy from the environment.
	plain := &Client{Server: url, HTTP: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}}
	return plain.Get(ctx, "", nil)
}
