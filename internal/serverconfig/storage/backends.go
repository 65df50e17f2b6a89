// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

// DataDir is the default directory of the server's files, on the data volume.
const DataDir = "${env.SQLITE_STORE_DIR:=" + v1alpha2.DefaultMountPath + "}"

// defaultFiles are the files of the server's default backends; those of other backends have the backend's name.
var defaultFiles = map[string]string{"kv_default": "kvstore.db", "sql_default": "sql_store.db"}

// connectionFields identify the database of a backend. Other fields are kept if the type does not change.
var connectionFields = []string{
	"type", "db_path", "host", "port", "db", "user", "password", "connection_string", "ssl_mode", "ca_cert_path",
}

// backendsOf returns the names of the backends of a kind in order.
func backendsOf(backends *yaml.Node, kind catalog.StoreKind) []string {
	var names []string
	for _, name := range document.Keys(backends) {
		if isOfKind(document.Text(document.Child(document.Child(backends, name), "type")), kind) {
			names = append(names, name)
		}
	}
	return names
}

// DefaultBackend returns the default backend of a kind: the one with the server's default name, or else the first.
func DefaultBackend(backends *yaml.Node, kind catalog.StoreKind) string {
	preferred := defaultName(kind)
	if names := backendsOf(backends, kind); len(names) > 0 && !slices.Contains(names, preferred) {
		return names[0]
	}
	return preferred
}

// defaultName returns the server's default name for the backend of a kind.
func defaultName(kind catalog.StoreKind) string { return string(kind) + "_default" }

// backendNode returns a backend. It keeps the other fields of an old one of the same type.
func backendNode(old *yaml.Node, backendType string, fields []entryField) *yaml.Node {
	n := mapNode(append([]entryField{{name: "type", value: document.String(backendType)}}, fields...))
	if document.Text(document.Child(old, "type")) != backendType {
		return n
	}
	for _, key := range document.Keys(old) {
		if !slices.Contains(connectionFields, key) {
			at, _ := document.IndexOf(old, key)
			document.Set(n, key, old.Content[at])
		}
	}
	return n
}

func mapNode(fields []entryField) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range fields {
		document.Set(n, f.name, f.value)
	}
	return n
}

// SQLiteType returns the type of the file backends of a kind.
func SQLiteType(kind catalog.StoreKind) string { return string(kind) + "_sqlite" }

func sqliteFields(name string) []entryField {
	file, ok := defaultFiles[name]
	if !ok {
		file = name + ".db"
	}
	return []entryField{{name: "db_path", value: document.String(DataDir + "/" + file)}}
}

// isOfKind reports whether a backend type is of a kind.
func isOfKind(backendType string, kind catalog.StoreKind) bool {
	return strings.HasPrefix(backendType, string(kind)+"_")
}

// systems are the systems of the backends by kind, as kv.type and sql.type name them.
var systems = map[catalog.StoreKind][]string{
	catalog.KV:  {systemSQLite, systemRedis, systemPostgres},
	catalog.SQL: {systemSQLite, systemPostgres},
}

const (
	systemSQLite   = "sqlite"
	systemRedis    = "redis"
	systemPostgres = "postgres"
)

// fieldsOf returns the fields of a backend by its name in the configuration, or false if the spec's are invalid.
func (s *step) fieldsOf(b *Backend) (func(name string) []entryField, bool) {
	_, system, _ := strings.Cut(b.Type, "_")
	if !slices.Contains(systems[b.kind], system) {
		s.unknownType(b, system)
		return nil, false
	}
	s.rejectForeignFields(b, system)
	var fields []entryField
	ok := true
	switch system {
	case systemRedis:
		fields, ok = s.redisFields(b)
	case systemPostgres:
		fields, ok = s.postgresFields(b)
	}
	tuning, supported := s.tuning(b)
	if !ok || !supported {
		return nil, false
	}
	return func(name string) []entryField {
		if system == systemSQLite {
			fields = sqliteFields(name)
		}
		return append(slices.Clone(fields), tuning...)
	}, true
}

// rejectForeignFields reports fields that belong to another type.
func (s *step) rejectForeignFields(b *Backend, system string) {
	if ptr.Deref(b.Endpoint, "") != "" && system != systemRedis {
		s.rejectForeign(b, ".endpoint", systemRedis)
	}
	if b.Password != nil && system == systemSQLite {
		s.rejectForeign(b, ".password", systems[b.kind][1])
	}
	if b.ConnectionString != nil && (b.Host != nil || b.Password != nil) && system == systemPostgres {
		s.problems.Add(problem.Problem{
			Reason: problem.ConflictingFields, Path: b.Path + ".connectionString", Type: field.ErrorTypeForbidden,
			Detail: "is another form of host, port, database, user, password and sslMode", Fix: "remove it or them",
		})
	}
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"connectionString", b.ConnectionString != nil}, {"host", b.Host != nil}, {"caBundle", b.CABundle != nil},
	} {
		if f.given && system != systemPostgres {
			s.rejectForeign(b, "."+f.name, systemPostgres)
		}
	}
}

// tuning returns the fields of a backend that do not say which database it is. It reports those that the release line
// does not have, and returns false.
func (s *step) tuning(b *Backend) ([]entryField, bool) {
	ok := true
	var fields []entryField
	integer := func(n *int32) *yaml.Node {
		if n == nil {
			return nil
		}
		return document.Int(int64(*n))
	}
	text, prePing := (*yaml.Node)(nil), (*yaml.Node)(nil)
	if b.TableName != nil {
		text = document.String(*b.TableName)
	}
	if b.PoolPrePing != nil {
		prePing = document.Bool(*b.PoolPrePing)
	}
	for _, f := range []struct {
		field, name string
		value       *yaml.Node
	}{
		{"tableName", "table_name", text},
		{"poolSize", "pool_size", integer(b.PoolSize)},
		{"maxOverflow", "max_overflow", integer(b.MaxOverflow)},
		{"poolRecycle", "pool_recycle", integer(b.PoolRecycle)},
		{"poolPrePing", "pool_pre_ping", prePing},
		{"commandTimeout", "command_timeout", integer(b.CommandTimeout)},
	} {
		if f.value == nil {
			continue
		}
		has := func(line *catalog.Line) bool { _, has := line.Backends[b.Type].Fields[f.name]; return has }
		if has(s.line) {
			fields = append(fields, entryField{f.name, f.value})
			continue
		}
		ok = false
		s.problems.Add(problem.Problem{
			Reason: problem.UnsupportedByRelease, Path: b.Path + "." + f.field, Type: field.ErrorTypeForbidden,
			Detail: fmt.Sprintf("the backend %s of release line %s has no %s", b.Type, s.line.Name, f.name),
			Fix:    "remove it" + release.OtherLines(has),
		})
	}
	return fields, ok
}

// rejectForeign repeats a check of the API server.
func (s *step) rejectForeign(b *Backend, name, system string) {
	belongsTo := b.typeName(system)
	fix := "set type: " + belongsTo + ", or remove it"
	if !slices.Contains(systems[b.kind], system) {
		belongsTo, fix = string(catalog.KV)+"_"+system, "remove it"
	}
	s.problems.Add(problem.Problem{
		Reason: problem.ConflictingFields, Path: b.Path + name, Type: field.ErrorTypeForbidden,
		Detail: "belongs to type " + belongsTo, Fix: fix,
	})
}

func (s *step) unknownType(b *Backend, system string) {
	known := slices.Clone(systems[b.kind])
	if b.name != "" {
		known = []string{"kv_sqlite", "kv_redis", "kv_postgres", "sql_sqlite", "sql_postgres"}
		system = b.Type
	}
	s.problems.Add(problem.Problem{
		Reason: problem.InvalidField, Path: b.Path + ".type", Type: field.ErrorTypeNotSupported, Value: system,
		Fix: "choose one of " + strings.Join(known, ", "),
	})
}

// row returns the catalog's row of a backend, or reports that the release line does not have it.
func (s *step) row(b *Backend) (catalog.Backend, bool) {
	row, ok := s.line.Backends[b.Type]
	if !ok || row.Credentials == "" {
		s.problems.Add(problem.Problem{
			Reason: problem.UnsupportedByRelease, Path: b.Path + ".type", Type: field.ErrorTypeForbidden,
			Detail: fmt.Sprintf("release line %s of the server has no backend %s", s.line.Name, b.Type),
			Fix: "choose type " + b.typeName(systemSQLite) +
				release.OtherLines(func(line *catalog.Line) bool { return line.Backends[b.Type].Credentials != "" }),
		})
	}
	return row, ok && row.Credentials != ""
}
