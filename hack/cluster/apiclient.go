// SPDX-License-Identifier: Apache-2.0

package cluster

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
)

// apiClient asks a server of the cluster with a client certificate. It does the
// few requests that this package needs; people and tests use kubectl or client-go.
type apiClient struct {
	server string
	http   *http.Client
}

// newAPIClient takes ca.crt, <pair>.crt and <pair>.key from a directory.
func newAPIClient(server, dir, ca, pair string) (*apiClient, error) {
	var files [3][]byte
	for i, name := range []string{ca + ".crt", pair + ".crt", pair + ".key"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		files[i] = data
	}
	return newTLSClient(server, files[0], keyPair{cert: files[1], key: files[2]})
}

func newTLSClient(server string, ca []byte, pair keyPair) (*apiClient, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("no certificate in the certificate authority's file")
	}
	certificate, err := tls.X509KeyPair(pair.cert, pair.key)
	if err != nil {
		return nil, err
	}
	return &apiClient{server: server, http: &http.Client{
		Timeout: 10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{
			RootCAs: roots, Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12,
		}},
	}}, nil
}

// adminFile is what a kubeconfig written by this package contains.
type adminFile struct {
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

// newKubeconfigClient reads a kubeconfig that this package wrote.
func newKubeconfigClient(file string) (*apiClient, error) {
	server, ca, pair, err := readKubeconfig(file)
	if err != nil {
		return nil, err
	}
	return newTLSClient(server, ca, pair)
}

func readKubeconfig(file string) (server string, ca []byte, pair keyPair, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", nil, keyPair{}, err
	}
	var parsed adminFile
	if err := json.Unmarshal(data, &parsed); err != nil {
		return "", nil, keyPair{}, fmt.Errorf("%s: %w", file, err)
	}
	if len(parsed.Clusters) != 1 || len(parsed.Users) != 1 {
		return "", nil, keyPair{}, fmt.Errorf("%s: not a kubeconfig of this tool", file)
	}
	user := parsed.Users[0].User
	var decoded [3][]byte
	for i, text := range []string{parsed.Clusters[0].Cluster.CA, user.Cert, user.Key} {
		if decoded[i], err = base64.StdEncoding.DecodeString(text); err != nil {
			return "", nil, keyPair{}, fmt.Errorf("%s: %w", file, err)
		}
	}
	return parsed.Clusters[0].Cluster.Server, decoded[0], keyPair{cert: decoded[1], key: decoded[2]}, nil
}

// get decodes the answer to a GET into result, unless that is nil.
func (c *apiClient) get(ctx context.Context, path string, result any) error {
	return c.do(ctx, http.MethodGet, path, nil, result)
}

// post sends body as JSON and decodes the answer into result, unless that is nil.
func (c *apiClient) post(ctx context.Context, path string, body, result any) error {
	return c.do(ctx, http.MethodPost, path, body, result)
}

func (c *apiClient) do(ctx context.Context, method, path string, body, result any) error {
	var payload bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&payload).Encode(body); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.server+path, &payload)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		return &statusError{code: response.StatusCode, body: lastLines(string(answer), 5)}
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(answer, result); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// statusError is an answer of a server that is not a success.
type statusError struct {
	code int
	body string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%d %s: %s", e.code, http.StatusText(e.code), e.body)
}
