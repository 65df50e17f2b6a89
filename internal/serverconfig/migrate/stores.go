// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/integrity"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/storage"
)

// storeFields are the fields to which a store of a provider moved, by its field on other release lines. A dot leads
// into a map.
var storeFields = map[string][]string{
	"kvstore":           {"kvstore", "persistence", "sqlstore"},
	"sqlstore":          {"sqlstore", "kvstore"},
	"persistence":       {"persistence"},
	"metadata_store":    {"metadata_store"},
	"persistence_store": {"persistence.agent_state"},
	"responses_store":   {"persistence.responses"},
	"store":             {"store"},
}

// locations are the namespaces and tables of the packaged configurations, where they are not the name of the API.
var locations = map[catalog.StoreKind]map[string]string{
	catalog.KV:  {"responses": "agents", "messages": "message_batches"},
	catalog.SQL: {"files": "files_metadata", "agents": "responses"},
}

// location returns the namespace or table of a provider's store.
func location(entry document.Entry, kind catalog.StoreKind) string {
	if entry.API == "vector_io" || entry.API == "datasetio" {
		if kind == catalog.SQL {
			return strings.ReplaceAll(entry.API+"_"+hint(entry), "-", "_")
		}
		return entry.API + "::" + hint(entry)
	}
	return cmp.Or(locations[kind][entry.API], entry.API)
}

// hint returns a name for the storage of a provider.
func hint(entry document.Entry) string {
	name := entry.Type()[strings.LastIndex(entry.Type(), ":")+1:]
	return strings.ReplaceAll(cmp.Or(entry.Identity().ID, name), "-", "_")
}

// isOldStore reports whether a value is a store of llama-stack 0.2, which has its own database.
func isOldStore(n *yaml.Node) bool {
	if n == nil || n.Kind != yaml.MappingNode || document.Child(n, "backend") != nil {
		return false
	}
	return document.Child(n, "type") != nil || document.Child(n, "db_path") != nil ||
		document.Child(n, "sql_store_config") != nil
}

// stores moves the stores of a provider to the fields of the release line, and adds required ones.
func (m *migration) stores(entry document.Entry, row *catalog.Provider, config *yaml.Node, path string) {
	for _, p := range pairs(config) {
		moved := false
		for _, to := range storeFields[p.key] {
			first, second, nested := strings.Cut(to, ".")
			field, known := row.Fields[first]
			if nested {
				field, known = m.line.Objects[field.Object][second]
			}
			if !known || field.Store == "" {
				continue
			}
			m.moveField(entry, field.Store, config, p, to, path)
			moved = true
			break
		}
		if _, reads := row.Fields[p.key]; !moved && !reads && storeFields[p.key] != nil && isOldStore(p.value) {
			document.Drop(config, p.key)
			m.add(Removed, p.value, path+"."+p.key, "is removed", m.hasNo("such store"))
		}
	}
	if persistence, ok := row.Fields["persistence"]; ok && persistence.Object != "" {
		for _, p := range pairs(document.Child(config, "persistence")) {
			if field, ok := m.line.Objects[persistence.Object][p.key]; ok && field.Store != "" {
				m.moveField(entry, field.Store, document.Child(config, "persistence"), p, p.key, path+".persistence")
			}
		}
	}
	m.requiredStores(entry, row, config, path)
}

// moveField moves a store to another field, as a reference of the kind.
func (m *migration) moveField(entry document.Entry, kind catalog.StoreKind, config *yaml.Node, p pair,
	to, path string) {
	store := p.value
	old, other := isOldStore(store), kindOf(store) != "" && kindOf(store) != kind
	if p.key == to && !old && !other || store.Kind != yaml.MappingNode {
		return
	}
	at := path + "." + p.key
	place := location(entry, kind)
	switch {
	case old:
		store = m.moveStore(store, kind, hint(entry), place)
		m.add(Rewritten, p.value, at, "is "+to+" now, which refers to a backend under storage", m.reads("only references"))
	case other:
		store = m.otherKind(store, kind, place)
		m.add(Rewritten, p.value, at, "is "+to+" now, which refers to a backend of kind "+string(kind),
			m.reads("this kind; data of the other kind is not copied"))
	default:
		m.add(Rewritten, p.value, at, "is "+to+" now", m.reads("this name"))
	}
	first, second, nested := strings.Cut(to, ".")
	switch {
	case nested && document.Descend(config, []string{first, second}) == nil:
		document.Drop(config, p.key)
		document.Set(document.Ensure(config, first, yaml.MappingNode), second, store)
	case nested || p.key != first && document.Child(config, first) != nil:
		document.Drop(config, p.key)
	default:
		if p.key != first {
			document.Drop(config, first)
		}
		rename(config, p.key, first)
		document.Set(config, first, store)
	}
}

// kindOf returns the kind of a reference to a backend, or "".
func kindOf(store *yaml.Node) catalog.StoreKind {
	namespace := document.Child(store, catalog.KV.LocationField()) != nil
	table := document.Child(store, catalog.SQL.LocationField()) != nil
	switch {
	case document.Child(store, "backend") == nil || namespace == table:
		return ""
	case namespace:
		return catalog.KV
	}
	return catalog.SQL
}

// otherKind returns a reference to a backend of the other kind.
func (m *migration) otherKind(store *yaml.Node, kind catalog.StoreKind, place string) *yaml.Node {
	n := m.reference(m.backend(kind), kind, place)
	for key, value := range document.Members(store) {
		if key != "backend" && key != catalog.KV.LocationField() && key != catalog.SQL.LocationField() {
			document.Set(n, key, value)
		}
	}
	return n
}

func (m *migration) reference(backend string, kind catalog.StoreKind, place string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	document.Set(n, "backend", document.String(backend))
	document.Set(n, kind.LocationField(), document.String(place))
	return n
}

// requiredStores adds missing references to backends that a provider requires. The path is empty for a new provider.
func (m *migration) requiredStores(entry document.Entry, row *catalog.Provider, config *yaml.Node, path string) {
	add := func(in *yaml.Node, name, at string, kind catalog.StoreKind) {
		document.Set(in, name, m.reference(m.backend(kind), kind, location(entry, kind)))
		if path != "" {
			m.add(Added, entry.Node, at+"."+name, "is added", "the server does not start without it")
		}
	}
	for _, name := range row.FieldNames() {
		field := row.Fields[name]
		value := document.Child(config, name)
		switch {
		case !field.Required:
			m.implicitBackend(entry, field, name, config, path)
		case field.Store != "" && value == nil:
			add(config, name, path, field.Store)
		case field.Object != "" && field.Type == catalog.TypeMap && (value == nil || value.Kind == yaml.MappingNode):
			inner := m.line.Objects[field.Object]
			for _, key := range slices.Sorted(maps.Keys(inner)) {
				if inner[key].Required && inner[key].Store != "" && document.Child(value, key) == nil {
					value = document.Ensure(config, name, yaml.MappingNode)
					add(value, key, path+"."+name, inner[key].Store)
				}
			}
		}
	}
}

// implicitBackend writes an optional store whose default refers to a backend that the file does not have.
func (m *migration) implicitBackend(entry document.Entry, field catalog.Field, name string, config *yaml.Node,
	path string) {
	backends := m.child("storage", "backends")
	if field.Store == "" || name != "store" || backends == nil || len(backends.Content) == 0 ||
		document.Child(config, name) != nil || document.Child(backends, defaultBackend(field.Store)) != nil {
		return
	}
	document.Set(config, name, m.reference(m.backend(field.Store), field.Store, location(entry, field.Store)))
	m.add(Added, entry.Node, path+"."+name, "is added", "its default is a backend "+defaultBackend(field.Store)+
		", which the file does not have")
}

func defaultBackend(kind catalog.StoreKind) string { return string(kind) + "_default" }

// backends returns the map of backends, and creates it.
func (m *migration) backends() *yaml.Node {
	if m.child("storage") == nil {
		m.ownStorage = true
	}
	return document.Ensure(document.Ensure(m.root, "storage", yaml.MappingNode), "backends", yaml.MappingNode)
}

// backend returns the name of the backend of a kind. It adds one to a file that has other backends only.
func (m *migration) backend(kind catalog.StoreKind) string {
	backends := m.child("storage", "backends")
	if backends == nil && (m.line.DefaultStorage || m.child("storage") != nil) && !m.line.Sections["storage"].Required {
		return defaultBackend(kind)
	}
	name := storage.DefaultBackend(backends, kind)
	if document.Child(backends, name) == nil {
		m.addBackend(kind)
	}
	return name
}

// addBackend adds a backend in a file, with the name that the server expects.
func (m *migration) addBackend(kind catalog.StoreKind) {
	file := map[catalog.StoreKind]string{catalog.KV: "kvstore.db", catalog.SQL: "sql_store.db"}[kind]
	dir := m.directory()
	backend := &yaml.Node{Kind: yaml.MappingNode}
	document.Set(backend, "type", document.String(storage.SQLiteType(kind)))
	document.Set(backend, "db_path", document.String(dir+"/"+file))
	document.Set(m.backends(), defaultBackend(kind), backend)
	m.add(Added, nil, "storage.backends."+defaultBackend(kind), "is added",
		"the server needs a backend of kind "+string(kind))
}

// directory returns the directory of the file's databases.
func (m *migration) directory() string {
	for _, backend := range document.Members(m.child("storage", "backends")) {
		if file := document.Text(document.Child(backend, "db_path")); strings.Contains(file, "/") {
			dir := file[:strings.LastIndex(file, "/")]
			if dir != "" && strings.Count(dir, "{") == strings.Count(dir, "}") {
				return dir
			}
		}
	}
	return storage.DataDir
}

// moveStore makes a backend of a store of llama-stack 0.2, and returns a reference to it. Equal stores share a backend.
func (m *migration) moveStore(store *yaml.Node, kind catalog.StoreKind, owner, place string) *yaml.Node {
	m.old = true
	settings := store
	if inner := document.Child(store, "sql_store_config"); inner != nil && inner.Kind == yaml.MappingNode {
		settings = inner
	}
	name := strings.TrimPrefix(strings.TrimPrefix(document.Text(document.Child(settings, "type")), "kv_"), "sql_")
	backend := &yaml.Node{Kind: yaml.MappingNode}
	document.Set(backend, "type", document.String(string(kind)+"_"+cmp.Or(name, "sqlite")))
	row := m.line.Backends[document.Text(document.Child(backend, "type"))]
	for key, value := range document.Members(settings) {
		switch _, known := row.Fields[key]; {
		case key == "type" || document.IsNull(value):
		case key == kind.LocationField() && (key == "namespace" || !known):
			if document.Text(value) != "" {
				place = document.Text(value)
			}
		default:
			document.Set(backend, key, value)
		}
	}
	n := m.reference(m.place(backend, kind, owner), kind, place)
	for key, value := range document.Members(store) {
		if settings != store && key != "sql_store_config" {
			document.Set(n, key, value)
		}
	}
	return n
}

// place returns the name of an equal backend, or adds the backend.
func (m *migration) place(backend *yaml.Node, kind catalog.StoreKind, owner string) string {
	backends := m.backends()
	for name, other := range document.Members(backends) {
		if reflect.DeepEqual(document.Plain(other), document.Plain(backend)) {
			return name
		}
	}
	name := defaultBackend(kind)
	for i := 1; document.Child(backends, name) != nil; i++ {
		name = string(kind) + "_" + owner
		if i > 1 {
			name += fmt.Sprintf("_%d", i)
		}
	}
	document.Set(backends, name, backend)
	return name
}

// topLevelStores moves the stores of llama-stack 0.2 to the section storage.
func (m *migration) topLevelStores() {
	for _, p := range pairs(m.root) {
		name := map[string]string{"metadata_store": "metadata", "inference_store": "inference",
			"conversations_store": "conversations"}[p.key]
		store, known := m.line.Stores[name]
		if name == "" || !known {
			continue
		}
		if !isOldStore(p.value) || m.child("storage", "stores", name) != nil {
			document.Drop(m.root, p.key)
			m.add(Removed, p.value, p.key, "is removed", m.reads("storage.stores."+name))
			continue
		}
		reference := m.moveStore(p.value, store.Kind, name, store.Default)
		if m.ownStorage && document.Child(m.root, "storage") != nil {
			m.placeStorage(p.key)
		}
		document.Drop(m.root, p.key)
		document.Set(document.Ensure(m.child("storage"), "stores", yaml.MappingNode), name, reference)
		m.add(Rewritten, p.value, p.key, "is storage.stores."+name+" now", m.reads("only that"))
	}
}

// placeStorage moves the new section storage to the place of the first store that it replaces.
func (m *migration) placeStorage(key string) {
	at, ok := document.IndexOf(m.root, key)
	last := len(m.root.Content) - 2
	if !ok || m.root.Content[last].Value != "storage" {
		return
	}
	section := slices.Clone(m.root.Content[last:])
	m.root.Content = slices.Insert(m.root.Content[:last], at-1, section...)
}

// storage completes the section storage for the release line.
func (m *migration) storage() {
	if n := document.Child(m.root, "storage"); n == nil {
		if m.line.DefaultStorage {
			return
		}
		document.Drop(m.root, "storage")
		for _, kind := range []catalog.StoreKind{catalog.KV, catalog.SQL} {
			m.addBackend(kind)
		}
	} else if n.Kind != yaml.MappingNode {
		return
	}
	for _, key := range []string{"backends", "stores"} {
		n := m.child("storage")
		if at, ok := document.IndexOf(n, key); ok && document.IsNull(n.Content[at]) {
			m.add(Removed, n.Content[at], "storage."+key, "null is removed", "the server does not start with it")
			document.Drop(n, key)
		}
	}
	if m.ownStorage || m.line.Sections["storage"].Required {
		for _, kind := range []catalog.StoreKind{catalog.KV, catalog.SQL} {
			m.backend(kind)
		}
	}
	for name, backend := range document.Members(m.child("storage", "backends")) {
		m.backendFields(name, backend)
	}
	m.storeEntries()
	m.missingStores()
}

// environmentFields are fields of backends that environment variables replace where a release line does not have them.
var environmentFields = map[string]string{
	"ssl_mode": "set the environment variable PGSSLMODE", "ca_cert_path": "set the environment variable PGSSLROOTCERT",
}

// backendFields removes the fields of a backend that only other release lines have.
func (m *migration) backendFields(name string, backend *yaml.Node) {
	kind := document.Text(document.Child(backend, "type"))
	row, known := m.line.Backends[kind]
	if !known {
		return
	}
	path := "storage.backends." + name
	for _, p := range pairs(backend) {
		field, known := row.Fields[p.key]
		other := elsewhere(func(l *catalog.Line) bool { _, ok := l.Backends[kind].Fields[p.key]; return ok })
		switch {
		case known:
			m.dropNull(backend, field, p, path+"."+p.key)
		case other && p.key == "connection_string":
			m.add(Kept, p.value, path+"."+p.key, m.hasNo("such field"), "write host, port, db, user and password")
		case other:
			document.Drop(backend, p.key)
			reason := m.hasNo("such field")
			if instead := environmentFields[p.key]; instead != "" {
				reason += "; " + instead
			}
			m.add(Removed, p.value, path+"."+p.key, "is removed", reason)
		}
	}
}

// storeEntries gives the stores the kind of the release line, and removes those that only other release lines have.
func (m *migration) storeEntries() {
	stores := m.child("storage", "stores")
	for _, p := range pairs(stores) {
		path := "storage.stores." + p.key
		store, known := m.line.Stores[p.key]
		switch kind := kindOf(p.value); {
		case !known && elsewhere(func(l *catalog.Line) bool { _, ok := l.Stores[p.key]; return ok }):
			document.Drop(stores, p.key)
			m.add(Removed, p.value, path, "is removed", m.hasNo("such store"))
		case !known || p.value.Kind != yaml.MappingNode:
		case isOldStore(p.value):
			document.Set(stores, p.key, m.moveStore(p.value, store.Kind, p.key, cmp.Or(store.Default, p.key)))
			m.add(Rewritten, p.value, path, "is a reference to a backend now", m.reads("only references"))
		case kind != "" && kind != store.Kind && !m.isMigrated(p.key, p.value, store):
			place := cmp.Or(store.Default, document.Text(document.Child(p.value, kind.LocationField())))
			document.Set(stores, p.key, m.otherKind(p.value, store.Kind, place))
			m.add(Rewritten, p.value, path, "refers to a backend of kind "+string(store.Kind)+" now",
				m.reads("this kind; data of the other kind is not copied"))
		default:
			m.fields(withReference(m.line.Objects[store.Object], store.Kind), p.value, path,
				func(l *catalog.Line, key string) bool { _, ok := l.Objects[store.Object][key]; return ok })
		}
	}
}

// isMigrated reports whether the server itself migrates a reference of a file that suits the release line.
func (m *migration) isMigrated(name string, n *yaml.Node, store catalog.Store) bool {
	backend := strings.ReplaceAll(document.Text(document.Child(n, "backend")), "kv_", "sql_")
	kind := document.Text(document.Child(document.Child(m.child("storage", "backends"), backend), "type"))
	return m.suits() && integrity.IsMigratedReference(name, n, store) && strings.HasPrefix(kind, string(catalog.SQL)+"_")
}

func withReference(fields map[string]catalog.Field, kind catalog.StoreKind) map[string]catalog.Field {
	all := kind.ReferenceFields()
	maps.Copy(all, fields)
	return all
}

// missingStores adds the stores whose default is a backend that the file does not have, and those that the release line
// requires.
func (m *migration) missingStores() {
	backends := m.child("storage", "backends")
	if backends == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m.line.Stores)) {
		store := m.line.Stores[name]
		if _, given := document.IndexOf(m.child("storage", "stores"), name); given || store.Default == "" ||
			document.Child(backends, defaultBackend(store.Kind)) != nil && !m.line.Sections["storage"].Required {
			continue
		}
		backend := m.backend(store.Kind)
		stores := document.Ensure(m.child("storage"), "stores", yaml.MappingNode)
		document.Set(stores, name, m.reference(backend, store.Kind, store.Default))
		if !m.ownStorage {
			m.add(Added, nil, "storage.stores."+name, "is added", "the server does not start without it")
		}
	}
}
