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

// DataDir is where files of the server go that the base names no directory for: on the data volume, which the pod makes
// sure of.
const DataDir = "${env.SQLITE_STORE_DIR:=" + v1alpha2.DefaultMountPath + "}"

// defaultFiles are the files that the servers themselves give their two backends; another backend's file has its name.
var defaultFiles = map[string]string{"kv_default": "kvstore.db", "sql_default": "sql_store.db"}

// connectionFields are the fields of a backend that say which database it is. The other ones, such as the size of the
// pool, survive where the type stays.
var connectionFields = []string{
	"type", "db_path", "host", "port", "db", "user", "password", "connection_string", "ssl_mode", "ca_cert_path",
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

// DefaultBackend returns the backend that is used where nothing names one of a kind: the one of the server's own
// default name, else the first.
func DefaultBackend(backends *yaml.Node, kind catalog.StoreKind) string {
	preferred := defaultName(kind)
	if names := backendsOf(backends, kind); len(names) > 0 && !slices.Contains(names, preferred) {
		return names[0]
	}
	return preferred
}

// defaultName is the server's own name for its backend of a kind.
func defaultName(kind catalog.StoreKind) string { return string(kind) + "_default" }

// backendNode makes a backend. Of an old one of the same type, what does not say which database it is stays.
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

// SQLiteType is the type of the backends of a kind that keep their state in a file.
func SQLiteType(kind catalog.StoreKind) string { return string(kind) + "_sqlite" }

func sqliteFields(name string) []entryField {
	file, ok := defaultFiles[name]
	if !ok {
		file = name + ".db"
	}
	return []entryField{{name: "db_path", value: document.String(DataDir + "/" + file)}}
}

// kvBackend is what the spec asks for of the kv backend; nil where that is wrong.
func (s *step) kvBackend(spec *v1alpha2.KVStorageSpec) *backend {
	b := &backend{kind: catalog.KV, path: pathKV, backendType: SQLiteType(catalog.KV), fields: sqliteFields}
	kind := ptr.Deref(spec.Type, v1alpha2.KVStorageSQLite)
	var fields []entryField
	var ok bool
	switch kind {
	case v1alpha2.KVStorageSQLite:
		s.refuseForeignKV(spec, kind)
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
	s.refuseForeignKV(spec, kind)
	if !ok {
		return nil
	}
	b.fields = func(string) []entryField { return fields }
	return b
}

// refuseForeignKV reports the fields that belong to another type.
func (s *step) refuseForeignKV(spec *v1alpha2.KVStorageSpec, kind v1alpha2.KVStorageType) {
	if ptr.Deref(spec.Endpoint, "") != "" && kind != v1alpha2.KVStorageRedis {
		s.refuseForeign(pathKV+".endpoint", "redis")
	}
	if spec.Password != nil && kind != v1alpha2.KVStorageRedis {
		s.refuseForeign(pathRedisPassword, "redis")
	}
	if spec.ConnectionString != nil && kind != v1alpha2.KVStoragePostgres {
		s.refuseForeign(kvDatabase.path(), "postgres")
	}
}

// sqlBackend is what the spec asks for of the SQL backend; nil where that is wrong.
func (s *step) sqlBackend(spec *v1alpha2.SQLStorageSpec) *backend {
	b := &backend{kind: catalog.SQL, path: pathSQL, backendType: SQLiteType(catalog.SQL), fields: sqliteFields}
	switch kind := ptr.Deref(spec.Type, v1alpha2.SQLStorageSQLite); kind {
	case v1alpha2.SQLStorageSQLite:
		if spec.ConnectionString != nil {
			s.refuseForeign(sqlDatabase.path(), "postgres")
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

// refuseForeign repeats what the API server checks.
func (s *step) refuseForeign(path, belongsTo string) {
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

// row returns what the release line knows of a type of backends; false where the release line does not have it.
func (s *step) row(backendType, path string) (catalog.Backend, bool) {
	row, ok := s.line.Backends[backendType]
	if !ok || row.Credentials == "" {
		s.problems.Add(problem.Problem{
			Reason: problem.UnsupportedByRelease, Path: path, Type: field.ErrorTypeForbidden,
			Detail: fmt.Sprintf("release line %s of the server has no backend %s", s.line.Name, backendType),
			Fix: "choose type sqlite" +
				release.Elsewhere(func(line *catalog.Line) bool { return line.Backends[backendType].Credentials != "" }),
		})
	}
	return row, ok && row.Credentials != ""
}
