// SPDX-License-Identifier: Apache-2.0

package serverconfig

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// RemoteStore is a store of the server in a PostgreSQL or Redis.
type RemoteStore struct {
	// Name is the name below storage.stores, or the API of the provider that has the store.
	Name string
	// Backend is the name of the storage backend, and Type its type, such as "sql_postgres".
	Backend, Type string
	// Field is the field of the spec that configures the backend; empty if it is the base's or in the user's own file.
	Field string
}

// Database returns the name of the backend's database system.
func (s *RemoteStore) Database() string { return databases[s.Type] }

// databases are the types of remote backends.
var databases = map[string]string{"kv_postgres": "PostgreSQL", "sql_postgres": "PostgreSQL", "kv_redis": "Redis"}

// providerStores are the stores of providers that a request reads: the API and the path of its reference to a backend.
var providerStores = []struct {
	api  string
	path []string
}{
	{"files", []string{"metadata_store"}},
	{"batches", []string{"kvstore"}}, {"batches", []string{"sqlstore"}},
	{"responses", []string{"persistence", "responses"}}, {"agents", []string{"persistence", "responses"}},
}

// RemoteStores returns the stores in PostgreSQL or Redis of a configuration as it was written, sorted by backend and
// name. given are the variables known to be set.
func RemoteStores(data []byte, given document.Variables) ([]RemoteStore, error) {
	base, err := document.ParseBase("", data)
	if err != nil {
		return nil, err
	}
	return remoteStores(base.Edit(), given, nil), nil
}

// RemoteStoresOf returns the stores in PostgreSQL or Redis of a base that runs unchanged.
func RemoteStoresOf(base *Base) []RemoteStore { return remoteStores(base.Edit(), nil, nil) }

// remoteStores returns the stores in PostgreSQL or Redis; configured are the backends that the spec sets.
func remoteStores(doc *document.Document, given document.Variables, configured map[string]bool) []RemoteStore {
	var stores []RemoteStore
	add := func(name string, reference *yaml.Node) {
		backend := document.Text(document.Child(reference, "backend"))
		kind := document.Text(document.Child(document.Child(doc.Backends(), backend), "type"))
		if databases[kind] == "" {
			return
		}
		s := RemoteStore{Name: name, Backend: backend, Type: kind}
		if configured[backend] {
			s.Field = "spec.storage." + string(catalog.KV)
			if !strings.HasPrefix(kind, string(catalog.KV)+"_") {
				s.Field = "spec.storage." + string(catalog.SQL)
			}
		}
		stores = append(stores, s)
	}
	for name, reference := range document.Members(doc.Stores()) {
		add(name, reference)
	}
	enabled := doc.EnabledProviders(given)
	for entry := range doc.Providers() {
		if !slices.Contains(enabled, document.ProviderName{API: entry.API, ID: entry.Identity().ID}) {
			continue
		}
		for _, store := range providerStores {
			reference := entry.Config()
			for _, key := range store.path {
				reference = document.Child(reference, key)
			}
			if store.api == entry.API {
				add(entry.API, reference)
			}
		}
	}
	slices.SortFunc(stores, func(a, b RemoteStore) int {
		return cmp.Or(strings.Compare(a.Backend, b.Backend), strings.Compare(a.Name, b.Name))
	})
	return slices.Compact(stores)
}
