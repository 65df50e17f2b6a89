// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"maps"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
)

// Backend is a backend of the spec, from either form.
type Backend struct {
	*v1alpha2.StorageBackend

	// Path is the field of the spec.
	Path string
	// name is the name of the backend in spec.storage.backends, or "" for kv and sql, which mean all of their kind.
	name string
	kind catalog.StoreKind
}

// Backends returns the backends of the spec in order. Their types are those of the server.
func Backends(spec *v1alpha2.StateStorageSpec) []Backend {
	if spec == nil {
		return nil
	}
	var list []Backend
	if kv := spec.KV; kv != nil {
		list = append(list, Backend{
			StorageBackend: &v1alpha2.StorageBackend{
				Type:     string(catalog.KV) + "_" + string(ptr.Deref(kv.Type, v1alpha2.KVStorageSQLite)),
				Endpoint: kv.Endpoint, DatabaseConnection: kv.DatabaseConnection,
			},
			Path: pathKV, kind: catalog.KV,
		})
	}
	if sql := spec.SQL; sql != nil {
		list = append(list, Backend{
			StorageBackend: &v1alpha2.StorageBackend{
				Type:               string(catalog.SQL) + "_" + string(ptr.Deref(sql.Type, v1alpha2.SQLStorageSQLite)),
				DatabaseConnection: sql.DatabaseConnection,
			},
			Path: pathSQL, kind: catalog.SQL,
		})
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Backends)) {
		b := spec.Backends[name]
		list = append(list, Backend{
			StorageBackend: &b, Path: pathBackends + "[" + name + "]", name: name, kind: kindOf(b.Type),
		})
	}
	return list
}

// kindOf returns the kind of a backend type.
func kindOf(backendType string) catalog.StoreKind {
	for _, kind := range []catalog.StoreKind{catalog.KV, catalog.SQL} {
		if isOfKind(backendType, kind) {
			return kind
		}
	}
	return ""
}

// environmentName returns the name of an environment variable of the backend.
func (b *Backend) environmentName(field string) string {
	name := b.name
	if name == "" {
		name = string(b.kind)
	}
	return environment.Name("storage_"+name, field)
}

// typeName returns the type as the spec names it.
func (b *Backend) typeName(system string) string {
	if b.name == "" {
		return system
	}
	return string(b.kind) + "_" + system
}

// credential returns the reference to the Secret of a PostgreSQL or Redis backend, with its variable and field.
func (b *Backend) credential() (ref *v1alpha2.SecretKeyRef, envName, path string) {
	if b.ConnectionString != nil {
		return b.ConnectionString, b.environmentName("connection_string"), b.Path + ".connectionString"
	}
	return b.Password, b.environmentName("password"), b.Path + ".password"
}

// use returns the Secret of the backend; incomplete ones are reported by SecretUses.
func (b *Backend) use() (environment.SecretUse, bool) {
	ref, envName, path := b.credential()
	if ref == nil {
		return environment.SecretUse{}, false
	}
	return secretUse(ref, envName, path, &problem.Collector{})
}

// database returns the database that the spec gives in parts, or nil.
func (b *Backend) database() *environment.Database {
	if b.ConnectionString != nil || ptr.Deref(b.Host, "") == "" {
		return nil
	}
	user := ptr.Deref(b.User, "")
	return &environment.Database{
		Host: *b.Host, Port: int(ptr.Deref(b.Port, postgresPort)), User: user, Name: ptr.Deref(b.Database, user),
		SSLMode: ptr.Deref(b.SSLMode, ""),
	}
}
