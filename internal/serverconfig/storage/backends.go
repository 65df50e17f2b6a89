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
		if strings.HasPrefix(document.Text(document.Child(document.Child(backends, name), "type")), string(kind)+"_") {
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

// kvBackend returns the kv backend of the spec, or nil if it is invalid.
func (s *step) kvBackend(spec *v1alpha2.KVStorageSpec) *backend {
	b := &backend{kind: catalog.KV, path: pathKV, backendType: SQLiteType(catalog.KV), fields: sqliteFields}
	kind := ptr.Deref(spec.Type, v1alpha2.KVStorageSQLite)
	var fields []entryField
	var ok bool
	switch kind {
	case v1alpha2.KVStorageSQLite:
		s.rejectForeignKV(spec, kind)
		return b
	case v1alpha2.KVStorageRedis:
		b.backendType = "kv_redis"
		fields, ok = s.redisFields(spec)
	case v1alpha2.KVStoragePostgres:
		b.backendType = "kv_postgres"
		fields, ok = s.postgresFields(kvDatabase, spec.ConnectionString)
	default:
		s.unknownType(pathKV+".type", string(kind),
			string(v1alpha2.KVStorageSQLite), string(v1alpha2.KVStorageRedis), string(v1alpha2.KVStoragePostgres))
		return nil
	}
	s.rejectForeignKV(spec, kind)
	if !ok {
		return nil
	}
	b.fields = func(string) []entryField { return fields }
	return b
}

// rejectForeignKV reports fields that belong to another type.
func (s *step) rejectForeignKV(spec *v1alpha2.KVStorageSpec, kind v1alpha2.KVStorageType) {
	if ptr.Deref(spec.Endpoint, "") != "" && kind != v1alpha2.KVStorageRedis {
		s.rejectForeign(pathKV+".endpoint", "redis")
	}
	if spec.Password != nil && kind != v1alpha2.KVStorageRedis {
		s.rejectForeign(pathRedisPassword, "redis")
	}
	if spec.ConnectionString != nil && kind != v1alpha2.KVStoragePostgres {
		s.rejectForeign(kvDatabase.path(), "postgres")
	}
}

// sqlBackend returns the SQL backend of the spec, or nil if it is invalid.
func (s *step) sqlBackend(spec *v1alpha2.SQLStorageSpec) *backend {
	b := &backend{kind: catalog.SQL, path: pathSQL, backendType: SQLiteType(catalog.SQL), fields: sqliteFields}
	switch kind := ptr.Deref(spec.Type, v1alpha2.SQLStorageSQLite); kind {
	case v1alpha2.SQLStorageSQLite:
		if spec.ConnectionString != nil {
			s.rejectForeign(sqlDatabase.path(), "postgres")
		}
	case v1alpha2.SQLStoragePostgres:
		b.backendType = "sql_postgres"
		fields, ok := s.postgresFields(sqlDatabase, spec.ConnectionString)
		if !ok {
			return nil
		}
		b.fields = func(string) []entryField { return fields }
	default:
		s.unknownType(pathSQL+".type", string(kind), string(v1alpha2.SQLStorageSQLite), string(v1alpha2.SQLStoragePostgres))
		return nil
	}
	return b
}

// rejectForeign repeats a check of the API server.
func (s *step) rejectForeign(path, belongsTo string) {
	s.problems.Add(problem.Problem{
		Reason: problem.ConflictingFields, Path: path, Type: field.ErrorTypeForbidden,
		Detail: "belongs to type " + belongsTo, Fix: "set type: " + belongsTo + ", or remove it",
	})
}

func (s *step) unknownType(path, value string, known ...string) {
	s.problems.Add(problem.Problem{
		Reason: problem.InvalidField, Path: path, Type: field.ErrorTypeNotSupported, Value: value,
		Fix: "choose one of " + strings.Join(known, ", "),
	})
}

// row returns the catalog's row of a backend type, or reports that the release line does not have it.
func (s *step) row(backendType, path string) (catalog.Backend, bool) {
	row, ok := s.line.Backends[backendType]
	if !ok || row.Credentials == "" {
		s.problems.Add(problem.Problem{
			Reason: problem.UnsupportedByRelease, Path: path, Type: field.ErrorTypeForbidden,
			Detail: fmt.Sprintf("release line %s of the server has no backend %s", s.line.Name, backendType),
			Fix: "choose type sqlite" +
				release.OtherLines(func(line *catalog.Line) bool { return line.Backends[backendType].Credentials != "" }),
		})
	}
	return row, ok && row.Credentials != ""
}
