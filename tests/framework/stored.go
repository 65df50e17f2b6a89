// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
)

// Stored reads an object from etcd, without the API server, which would convert it. The resource has the form
// "GROUP/PLURAL".
func (c *Cluster) Stored(ctx context.Context, resource, namespace, name string) (map[string]any, error) {
	key := "/registry/" + resource + "/" + namespace + "/" + name
	raw, err := c.askEtcd(ctx, "/v3/kv/range", map[string][]byte{"key": []byte(key)})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	var found struct {
		Kvs []struct{ Value []byte }
	}
	if err := json.Unmarshal(raw, &found); err != nil || len(found.Kvs) != 1 {
		return nil, fmt.Errorf("%s: %d values: %w", key, len(found.Kvs), err)
	}
	var object map[string]any
	err = json.Unmarshal(found.Kvs[0].Value, &object)
	return object, err
}

// systemNamespaces are the namespaces that Kubernetes' own programs write to.
var systemNamespaces = []string{metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease}

// keyOfStore is a key of etcd with its revision and, if requested, its value.
type keyOfStore struct {
	Key, Value []byte
	Revision   string `json:"mod_revision"`
}

// Snapshot records everything in etcd for Restore.
func (c *Cluster) Snapshot(ctx context.Context) (err error) {
	if c.kept, err = c.keys(ctx, false); err != nil {
		return err
	}
	c.groups, err = c.apiGroups()
	return err
}

// Restore returns etcd to the Snapshot, without finalizers and controllers, except for the namespaces of Kubernetes
// itself. It waits until the API server has the API groups of the Snapshot.
func (c *Cluster) Restore(ctx context.Context) error {
	stored, err := c.keys(ctx, true)
	if err != nil {
		return err
	}
	var changes []any
	for key := range stored {
		if _, kept := c.kept[key]; !kept && !ofSystem(key) {
			changes = append(changes, map[string]any{"request_delete_range": map[string][]byte{"key": []byte(key)}})
		}
	}
	for key, before := range c.kept {
		if stored[key].Revision != before.Revision && !ofSystem(key) {
			changes = append(changes, map[string]any{"request_put": map[string][]byte{"key": []byte(key), "value": before.Value}})
		}
	}
	for some := range slices.Chunk(changes, 100) { // etcd allows 128 operations
		if _, err := c.askEtcd(ctx, "/v3/kv/txn", map[string]any{"success": some}); err != nil {
			return err
		}
	}
	err = Poll(ctx, time.Minute, func() error {
		groups, err := c.apiGroups()
		if err == nil && !slices.Equal(groups, c.groups) {
			err = fmt.Errorf("the API server has the APIs %q, had %q", groups, c.groups)
		}
		return err
	})
	c.since = time.Now()
	return err
}

// ofSystem reports whether a key belongs to a namespace of Kubernetes itself, or to the ranges of addresses and ports.
func ofSystem(key string) bool {
	parts := strings.Split(key, "/")
	return slices.ContainsFunc(parts, func(part string) bool { return slices.Contains(systemNamespaces, part) }) || parts[2] == "ranges"
}

// keys returns all keys of etcd.
func (c *Cluster) keys(ctx context.Context, withoutValues bool) (map[string]keyOfStore, error) {
	raw, err := c.askEtcd(ctx, "/v3/kv/range", map[string]any{"key": []byte("/registry/"), "range_end": []byte("/registry0"), "keys_only": withoutValues})
	if err != nil {
		return nil, err
	}
	var found struct{ Kvs []keyOfStore }
	err = json.Unmarshal(raw, &found)
	keys := make(map[string]keyOfStore, len(found.Kvs))
	for _, k := range found.Kvs {
		keys[string(k.Key)] = k
	}
	return keys, err
}

// apiGroups returns the groups of the API server, sorted.
func (c *Cluster) apiGroups() ([]string, error) {
	config, err := c.AdminConfig()
	if err != nil {
		return nil, err
	}
	api, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	list, err := api.ServerGroups()
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range list.Groups {
		names = append(names, list.Groups[i].Name)
	}
	slices.Sort(names)
	return names, nil
}

// askEtcd uses etcd's JSON gateway, which needs no client library.
func (c *Cluster) askEtcd(ctx context.Context, path string, question any) ([]byte, error) {
	if c.Etcd == "" {
		return nil, errors.New("the store can be reached on the control plane tier only")
	}
	pki := func(name string) string { return filepath.Join(c.Dir, "pki", name) }
	authority, err := os.ReadFile(pki("etcd-ca.crt"))
	if err != nil {
		return nil, err
	}
	trust := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12, Certificates: make([]tls.Certificate, 1)}
	trust.RootCAs.AppendCertsFromPEM(authority)
	if trust.Certificates[0], err = tls.LoadX509KeyPair(pki("etcd-client.crt"), pki("etcd-client.key")); err != nil {
		return nil, err
	}
	body, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{TLSClientConfig: trust}
	defer transport.CloseIdleConnections()
	status, answer, err := Send(ctx, &http.Client{Transport: transport}, http.MethodPost, c.Etcd+path, string(body))
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("etcd answers %d: %s", status, answer)
	}
	return answer, err
}
