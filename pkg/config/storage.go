// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
)

// storeDir is where the files of SQLite go: a directory on the data volume, which the pod makes sure of.
const storeDir = "${env.SQLITE_STORE_DIR:=/.llama}"

// defaultFiles are the files that the servers themselves give their two backends; another backend's file has its name.
var defaultFiles = map[string]string{"kv_default": "kvstore.db", "sql_default": "sql_store.db"}

// connectionFields are the fields of a backend that say which database it is. The other ones, such as the size of the pool,
// survive where the type stays.
var connectionFields = []string{
	"type", "db_path", "host", "port", "db", "user", "password", "connection_string", "ssl_mode", "ca_cert_path",
}

// half is one half of the storage, as the resource wants it.
type half struct {
	kind catalog.StoreKind
	// path is the field of the resource.
	path string
	// backendType is the type of the backends: "kv_redis".
	backendType string
	// fields returns the fields of the backend of that name.
	fields func(name string) []assignment
}

// applyStorage gives the backends of each half that the resource configures its type and fields. They keep their names, so
// that every reference to them stays. The other half, and without spec.storage both, stay as the base says; a base without
// the section gets what the server would do by itself written out, because some releases cannot start without it.
func (g *generation) applyStorage() {
	wanted := g.Spec.Storage
	if wanted == nil {
		wanted = &v1alpha2.StateStorageSpec{}
	}
	if g.doc.Section("storage") != nil && wanted.KV == nil && wanted.SQL == nil {
		return
	}
	storage := document.Ensure(g.doc.Root(), "storage", yaml.MappingNode)
	backends := document.Ensure(storage, "backends", yaml.MappingNode)
	for _, kind := range []catalog.StoreKind{catalog.KV, catalog.SQL} {
		if len(backendsOf(backends, kind)) == 0 {
			name := string(kind) + "_default"
			document.Set(backends, name, backendNode(nil, sqliteType(kind), sqliteFields(name)))
		}
	}
	var halves []*half
	if wanted.KV != nil {
		halves = append(halves, g.kvHalf(wanted.KV))
	}
	if wanted.SQL != nil {
		halves = append(halves, g.sqlHalf(wanted.SQL))
	}
	g.completeStores(document.Ensure(storage, "stores", yaml.MappingNode), backends)
	for _, h := range halves {
		if h != nil {
			g.replaceBackends(backends, h)
		}
	}
	switch {
	case wanted.KV == nil && wanted.SQL != nil:
		g.warnLeftBehind(backends, catalog.KV, "kv: {} for SQLite, or name a Redis there")
	case wanted.SQL == nil && wanted.KV != nil:
		g.warnLeftBehind(backends, catalog.SQL, "sql: {} for SQLite, or name a PostgreSQL there")
	}
}

// warnLeftBehind tells of a half that the resource leaves as the base has it, in a database whose address the resource does not give: the image may, but
// who moves one half has rather forgotten the other one.
func (g *generation) warnLeftBehind(backends *yaml.Node, kind catalog.StoreKind, instead string) {
	for _, name := range backendsOf(backends, kind) {
		for _, field := range []string{"host", "connection_string"} {
			variables := document.VariablesIn(document.String(document.Text(document.Child(document.Child(backends, name), field))))
			if len(variables) == 0 || g.env.Given()[variables[0]] {
				continue
			}
			g.findings.warn(InvalidSpec, "spec.storage."+string(kind),
				fmt.Sprintf("is absent, so that the backend %s of the base configuration stays where the environment variable %s says, "+
					"which the resource does not set", name, variables[0]),
				"write "+instead+", or set the variable in spec.workload.overrides.env")
			return
		}
	}
}

// replaceBackends turns every backend of the kind into what the resource wants.
func (g *generation) replaceBackends(backends *yaml.Node, h *half) {
	names := backendsOf(backends, h.kind)
	for _, name := range names {
		old := document.Child(backends, name)
		if h.backendType == sqliteType(h.kind) && document.Text(document.Child(old, "type")) == h.backendType {
			continue // it is SQLite already, with a file of its own
		}
		document.Set(backends, name, backendNode(old, h.backendType, h.fields(name)))
	}
	if g.storageNames == nil {
		g.storageNames = map[string]bool{}
	}
	for _, name := range names {
		g.storageNames[name] = true
	}
	if h.backendType != sqliteType(h.kind) {
		g.refuseSharing(h, names)
	}
}

// refuseSharing reports what several backends of the base keep under one name: they become one database, and would write over
// each other there.
func (g *generation) refuseSharing(h *half, names []string) {
	type use struct{ backend, path string }
	first := map[string]use{}
	check := func(path, backend, place string) {
		if !slices.Contains(names, backend) {
			return
		}
		before, seen := first[place]
		if !seen {
			first[place] = use{backend, path}
			return
		}
		if before.backend != backend {
			g.findings.fail(Conflict, h.path, fmt.Sprintf(
				"makes one database of the backends %s and %s of the base configuration %s, in which %s and %s would both be kept as %q",
				before.backend, backend, g.Base.Name(), before.path, path, place),
				"give one of them another "+h.kind.Place()+" in the base configuration")
		}
	}
	eachReference(g.doc.Stores(), "storage.stores", h.kind, check)
	eachReference(g.doc.Section("providers"), "providers", h.kind, check)
}

// eachReference calls do for every reference to a backend of the kind within a tree: a map of backend and place.
func eachReference(n *yaml.Node, path string, kind catalog.StoreKind, do func(path, backend, place string)) {
	for i, item := range document.Items(n) {
		eachReference(item, fmt.Sprintf("%s[%d]", path, i), kind, do)
	}
	if backend, place := document.Text(document.Child(n, "backend")), document.Text(document.Child(n, kind.Place())); backend != "" && place != "" {
		do(path, backend, place)
	}
	for _, key := range document.Keys(n) {
		eachReference(document.Child(n, key), path+"."+key, kind, do)
	}
}

// completeStores writes out every store that the release line keeps, in the form that it wants. What the base says in that
// form stays, and so does a store that it turns off.
func (g *generation) completeStores(stores, backends *yaml.Node) {
	primary := map[catalog.StoreKind]string{
		catalog.KV: g.primaryBackend(stores, backends, catalog.KV), catalog.SQL: g.primaryBackend(stores, backends, catalog.SQL),
	}
	for _, name := range slices.Sorted(maps.Keys(g.Line.Stores)) {
		store := g.Line.Stores[name]
		if document.IndexOf(stores, name) < 0 {
			if store.Default != "" {
				document.Set(stores, name, mapNode([]assignment{
					{field: "backend", value: document.String(primary[store.Kind])},
					{field: store.Kind.Place(), value: document.String(store.Default)},
				}))
			}
			continue
		}
		if entry := document.Child(stores, name); entry != nil && entry.Kind == yaml.MappingNode {
			correctStore(entry, store, backendsOf(backends, store.Kind), primary[store.Kind])
		}
	}
}

// correctStore brings a store that the base has in the form of another release line into that of this one.
func correctStore(entry *yaml.Node, store catalog.Store, ofKind []string, primary string) {
	other := catalog.KV
	if store.Kind == catalog.KV {
		other = catalog.SQL
	}
	if place := document.Child(entry, other.Place()); place != nil && document.Child(entry, store.Kind.Place()) == nil {
		entry.Content[document.IndexOf(entry, other.Place())-1] = document.String(store.Kind.Place())
	}
	if backend := document.Text(document.Child(entry, "backend")); !slices.Contains(ofKind, backend) && !document.HasReference(backend) {
		document.Set(entry, "backend", document.String(primary))
	}
}

// primaryBackend is the backend for a store that the base does not name: the one that other stores of the kind use, else the
// one that the server would take, else the first.
func (g *generation) primaryBackend(stores, backends *yaml.Node, kind catalog.StoreKind) string {
	names := backendsOf(backends, kind)
	for _, store := range document.Keys(stores) {
		if used := document.Text(document.Child(document.Child(stores, store), "backend")); slices.Contains(names, used) {
			return used
		}
	}
	if name := string(kind) + "_default"; slices.Contains(names, name) {
		return name
	}
	return names[0]
}

// backendsOf returns the names of the backends of a kind, in the order of the configuration.
func backendsOf(backends *yaml.Node, kind catalog.StoreKind) []string {
	var names []string
	for _, name := range document.Keys(backends) {
		if strings.HasPrefix(document.Text(document.Child(document.Child(backends, name), "type")), string(kind)+"_") {
			names = append(names, name)
		}
	}
	return names
}

// backendNode makes a backend. Of an old one of the same type, what does not say which database it is stays.
func backendNode(old *yaml.Node, backendType string, fields []assignment) *yaml.Node {
	n := mapNode(append([]assignment{{field: "type", value: document.String(backendType)}}, fields...))
	if document.Text(document.Child(old, "type")) != backendType {
		return n
	}
	for _, key := range document.Keys(old) {
		if !slices.Contains(connectionFields, key) {
			document.Set(n, key, old.Content[document.IndexOf(old, key)])
		}
	}
	return n
}

func mapNode(fields []assignment) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range fields {
		document.Set(n, f.field, f.value)
	}
	return n
}

func sqliteType(kind catalog.StoreKind) string { return string(kind) + "_sqlite" }

func sqliteFields(name string) []assignment {
	file, ok := defaultFiles[name]
	if !ok {
		file = name + ".db"
	}
	return []assignment{{field: "db_path", value: document.String(storeDir + "/" + file)}}
}

func (g *generation) kvHalf(spec *v1alpha2.KVStorageSpec) *half {
	const path = "spec.storage.kv"
	h := &half{kind: catalog.KV, path: path, backendType: sqliteType(catalog.KV), fields: sqliteFields}
	switch kind := ptr.Deref(spec.Type, v1alpha2.KVStorageSQLite); kind {
	case v1alpha2.KVStorageSQLite:
		if ptr.Deref(spec.Endpoint, "") != "" {
			g.refuseForeign(path+".endpoint", "redis")
		}
		if spec.Password != nil {
			g.refuseForeign(path+".password", "redis")
		}
	case v1alpha2.KVStorageRedis:
		h.backendType = "kv_redis"
		fields, ok := g.redisFields(spec, path)
		if !ok {
			return nil
		}
		h.fields = func(string) []assignment { return fields }
	default:
		g.unknownStorage(path+".type", string(v1alpha2.KVStorageSQLite), string(v1alpha2.KVStorageRedis))
		return nil
	}
	return h
}

func (g *generation) sqlHalf(spec *v1alpha2.SQLStorageSpec) *half {
	const path = "spec.storage.sql"
	h := &half{kind: catalog.SQL, path: path, backendType: sqliteType(catalog.SQL), fields: sqliteFields}
	switch kind := ptr.Deref(spec.Type, v1alpha2.SQLStorageSQLite); kind {
	case v1alpha2.SQLStorageSQLite:
		if spec.ConnectionString != nil {
			g.refuseForeign(path+".connectionString", "postgres")
		}
	case v1alpha2.SQLStoragePostgres:
		h.backendType = "sql_postgres"
		fields, ok := g.postgresFields(spec, path)
		if !ok {
			return nil
		}
		h.fields = func(string) []assignment { return fields }
	default:
		g.unknownStorage(path+".type", string(v1alpha2.SQLStorageSQLite), string(v1alpha2.SQLStoragePostgres))
		return nil
	}
	return h
}

// refuseForeign repeats what the API server checks.
func (g *generation) refuseForeign(path, belongsTo string) {
	g.findings.fail(InvalidSpec, path, "belongs to type "+belongsTo, "set type: "+belongsTo+", or remove it")
}

func (g *generation) unknownStorage(path string, known ...string) {
	g.findings.fail(InvalidSpec, path, "Unsupported value", "choose one of "+strings.Join(known, ", "))
}
