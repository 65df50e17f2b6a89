// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// completeStores adds the release line's default stores and converts existing ones to its form. Disabled stores stay.
func (s *step) completeStores(stores, backends *yaml.Node) {
	primary := map[catalog.StoreKind]string{
		catalog.KV:  s.primaryBackend(stores, backends, catalog.KV),
		catalog.SQL: s.primaryBackend(stores, backends, catalog.SQL),
	}
	for _, name := range slices.Sorted(maps.Keys(s.line.Stores)) {
		store := s.line.Stores[name]
		if _, exists := document.IndexOf(stores, name); !exists {
			if store.Default != "" {
				document.Set(stores, name, mapNode([]entryField{
					{name: "backend", value: document.String(primary[store.Kind])},
					{name: store.Kind.LocationField(), value: document.String(store.Default)},
				}))
			}
			continue
		}
		if entry := document.Child(stores, name); entry != nil && entry.Kind == yaml.MappingNode {
			convertStore(entry, store, backendsOf(backends, store.Kind), primary[store.Kind])
		}
	}
}

// convertStore converts a store from the form of another release line.
func convertStore(entry *yaml.Node, store catalog.Store, ofKind []string, primary string) {
	other := catalog.KV
	if store.Kind == catalog.KV {
		other = catalog.SQL
	}
	if place := document.Child(entry, other.LocationField()); place != nil &&
		document.Child(entry, store.Kind.LocationField()) == nil {
		at, _ := document.IndexOf(entry, other.LocationField())
		entry.Content[at-1] = document.String(store.Kind.LocationField())
	}
	if backend := document.Text(document.Child(entry, "backend")); !slices.Contains(ofKind, backend) &&
		!document.HasReference(backend) {
		document.Set(entry, "backend", document.String(primary))
	}
}

// primaryBackend returns the backend that other stores of the kind use, or else the default one.
func (s *step) primaryBackend(stores, backends *yaml.Node, kind catalog.StoreKind) string {
	names := backendsOf(backends, kind)
	for _, store := range document.Keys(stores) {
		if used := document.Text(document.Child(document.Child(stores, store), "backend")); slices.Contains(names, used) {
			return used
		}
	}
	return DefaultBackend(backends, kind)
}

// vectorStores is the name of the store and of its table.
const vectorStores = "vector_stores"

// KeepVectorStores adds the SQL store of vector stores if the release line has it. With access rules or tenants,
// vector_io providers need it to start, and migrate their kv data to it (initialize_openai_vector_stores, release line
// 1.1 and newer).
func KeepVectorStores(doc *document.Document, line *catalog.Line) {
	if store, ok := line.Stores[vectorStores]; !ok || store.Kind != catalog.SQL {
		return
	}
	storage := document.Ensure(doc.Root(), "storage", yaml.MappingNode)
	stores := document.Ensure(storage, "stores", yaml.MappingNode)
	if entry := document.Child(stores, vectorStores); entry != nil && entry.Kind == yaml.MappingNode {
		return
	}
	s := &step{doc: doc, line: line}
	backend := s.primaryBackend(stores, document.Ensure(storage, "backends", yaml.MappingNode), catalog.SQL)
	document.Set(stores, vectorStores, mapNode([]entryField{
		{name: "backend", value: document.String(backend)},
		{name: catalog.SQL.LocationField(), value: document.String(vectorStores)},
	}))
}
