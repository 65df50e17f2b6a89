// SPDX-License-Identifier: Apache-2.0

package integrity

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/storage"
)

// implicitBackends maps the backends of a configuration without section storage to their types.
var implicitBackends = map[string]string{"kv_default": storage.SQLiteType(catalog.KV),
	"sql_default": storage.SQLiteType(catalog.SQL)}

// backends checks that all referenced storage backends exist and have the right kind.
func (c *check) backends() {
	search := backendSearch{types: implicitBackends, objects: c.line.Objects}
	if backends := c.doc.Backends(); backends != nil {
		search.types = map[string]string{}
		for name, backend := range document.Members(backends) {
			search.types[name] = document.Text(document.Child(backend, "type"))
		}
	}
	for name, store := range document.Members(c.doc.Stores()) {
		known := c.line.Stores[name]
		if IsMigratedReference(name, store, known) {
			store = migrateReference(store)
		}
		for _, b := range search.broken(store, catalog.Field{Store: known.Kind, Object: known.Object}) {
			c.broken("storage.stores."+name+b.path+".backend", b.message, b.instead)
		}
	}
	for entry := range c.doc.Providers() {
		if entry.Identity().Raw == document.DisabledID {
			continue
		}
		row, ok := c.line.Provider(entry.API, entry.Type())
		if !ok {
			row = &catalog.Provider{}
		}
		for name, value := range document.Members(entry.Config()) {
			for _, b := range search.broken(value, row.Fields[name]) {
				c.broken(entry.Path()+".config."+name+b.path+".backend", b.message, b.instead)
			}
		}
	}
}

// unusedBackends reports named backends of the spec that no store and no provider uses: the state would be elsewhere.
func (c *check) unusedBackends() {
	if c.spec == nil || c.spec.Storage == nil || len(c.spec.Storage.Backends) == 0 {
		return
	}
	used := map[string]bool{}
	var visit func(n *yaml.Node)
	visit = func(n *yaml.Node) {
		if name := document.Text(document.Child(n, "backend")); name != "" {
			used[name] = true
		}
		for _, item := range document.Items(n) {
			visit(item)
		}
		for _, value := range document.Members(n) {
			visit(value)
		}
	}
	visit(c.doc.Stores())
	for entry := range c.doc.Providers() {
		visit(entry.Config())
	}
	for _, name := range slices.Sorted(maps.Keys(c.spec.Storage.Backends)) {
		if !used[name] && c.configured[name] {
			c.problems.Add(problem.Problem{
				Reason: problem.InvalidField, Path: "spec.storage.backends[" + name + "]", Type: field.ErrorTypeInvalid,
				Value: name, Detail: "is used by no store and no provider",
				Fix: "name it in spec.storage.stores, or give it the name of a backend that is used: " +
					limits.Names(slices.Sorted(maps.Keys(used))),
			})
		}
	}
}

// movedStores are stores that moved from the kv to the SQL backend. From release line 1.0 on, the server migrates old
// references (ServerStoresConfig._migrate_kv_to_sql).
var movedStores = []string{"connectors", "prompts"}

// IsMigratedReference reports whether the server migrates the reference of a store.
func IsMigratedReference(name string, store *yaml.Node, def catalog.Store) bool {
	return def.Kind == catalog.SQL && slices.Contains(movedStores, name) &&
		document.Child(store, catalog.KV.LocationField()) != nil && document.Child(store, catalog.SQL.LocationField()) == nil
}

// migrateReference returns a reference as the server migrates it.
func migrateReference(store *yaml.Node) *yaml.Node {
	backend := cmp.Or(document.Text(document.Child(store, "backend")), "sql_default")
	n := &yaml.Node{Kind: yaml.MappingNode}
	document.Set(n, "backend", document.String(strings.ReplaceAll(backend, "kv_", "sql_")))
	document.Set(n, catalog.SQL.LocationField(), document.Child(store, catalog.KV.LocationField()))
	return n
}

// backendSearch searches trees for references to storage backends that are missing or of the wrong kind.
type backendSearch struct {
	// types are the types of the existing backends, by name.
	types   map[string]string
	objects map[string]map[string]catalog.Field
}

// brokenBackend is an invalid reference to a storage backend; its path is relative to the searched tree.
type brokenBackend struct {
	path, message string
	instead       []string
}

// broken searches the value of a field for invalid references, which are maps with a backend and a namespace or table.
// It builds paths only for errors.
func (s *backendSearch) broken(n *yaml.Node, of catalog.Field) []brokenBackend {
	var broken []brokenBackend
	add := func(at func() string, inner []brokenBackend) {
		for _, b := range inner {
			if len(broken) > limits.Problems {
				return // the rest is not shown
			}
			b.path = limits.Join(at(), b.path)
			broken = append(broken, b)
		}
	}
	for i, item := range document.Items(n) {
		add(func() string { return fmt.Sprintf("[%d]", i) }, s.broken(item, catalog.Field{Object: of.Object}))
	}
	for key, value := range document.Members(n) {
		add(func() string { return "." + key }, s.broken(value, s.objects[of.Object][key]))
	}
	if message, instead := s.validate(n, of.Store); message != "" {
		broken = append(broken, brokenBackend{message: message, instead: instead})
	}
	return broken
}

// validate returns the error of a reference and the valid backends. An empty kind follows from namespace or table.
func (s *backendSearch) validate(n *yaml.Node, kind catalog.StoreKind) (message string, instead []string) {
	name := document.Text(document.Child(n, "backend"))
	namespace, table := document.Child(
		n,
		catalog.KV.LocationField(),
	) != nil, document.Child(
		n,
		catalog.SQL.LocationField(),
	) != nil
	if name == "" || document.HasReference(name) || (!namespace && !table) {
		return "", nil
	}
	switch {
	case kind != "" || namespace && table:
	case namespace:
		kind = catalog.KV
	default:
		kind = catalog.SQL
	}
	if backendType, ok := s.types[name]; ok && isOfKind(backendType, kind) {
		return "", nil
	}
	for _, other := range slices.Sorted(maps.Keys(s.types)) {
		if isOfKind(s.types[other], kind) {
			instead = append(instead, other)
		}
	}
	if backendType, ok := s.types[name]; ok {
		return fmt.Sprintf("the storage backend %q is %s, but type %s_… is required", name, backendType, kind), instead
	}
	return fmt.Sprintf("there is no storage backend %q", name), instead
}

// isOfKind reports whether a backend type is of a kind, or may be, because it is absent or an environment reference.
func isOfKind(backendType string, kind catalog.StoreKind) bool {
	return kind == "" || backendType == "" || strings.HasPrefix(backendType, string(kind)+"_") ||
		document.HasReference(backendType)
}
