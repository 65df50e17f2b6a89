// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// StateStorageSpec configures the storage backends of the server's state. An omitted backend keeps the distribution's
// settings; an empty one means sqlite.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.kv) || has(self.sql)) || !(has(self.backends) && self.backends.size() > 0)",message="kv and sql cannot be combined with backends: use one of the two forms"
type StateStorageSpec struct {
	// KV configures the key-value storage backend (sqlite, redis or postgres).
	// +optional
	KV *KVStorageSpec `json:"kv,omitempty"`

	// SQL configures the relational storage backend (sqlite or postgres).
	// +optional
	SQL *SQLStorageSpec `json:"sql,omitempty"`

	// Backends are backends by name, in place of kv and sql. One with the name of a distribution's backend replaces it.
	// +optional
	// +kubebuilder:validation:MaxProperties=20
	Backends map[string]StorageBackend `json:"backends,omitempty"`

	// Stores assigns the server's stores to backends, for example inference: {backend: sql_default}. false turns a
	// store off.
	// +optional
	// +kubebuilder:validation:MaxProperties=20
	Stores map[string]apiextensionsv1.JSON `json:"stores,omitempty"`
}

// DatabaseConnection is the connection to a PostgreSQL database: a connection string, or its parts.
//
// +kubebuilder:validation:XValidation:rule="!has(self.connectionString) || !(has(self.host) || has(self.port) || has(self.database) || has(self.user) || has(self.sslMode) || has(self.password))",message="give either connectionString, or host, port, database, user, password and sslMode"
// +kubebuilder:validation:XValidation:rule="!has(self.host) || has(self.user) && has(self.password)",message="host needs user and password: for a database without a password, use connectionString"
// +kubebuilder:validation:XValidation:rule="has(self.host) || !(has(self.port) || has(self.database) || has(self.user) || has(self.sslMode))",message="port, database, user and sslMode need a host"
type DatabaseConnection struct {
	// ConnectionString refers to the Secret with the connection string of a PostgreSQL database.
	// +optional
	ConnectionString *SecretKeyRef `json:"connectionString,omitempty"`

	// Host is the name or address of the PostgreSQL server, in place of connectionString.
	// +optional
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_.:-]+$`
	// +kubebuilder:validation:MaxLength=253
	Host *string `json:"host,omitempty"`

	// Port is the port of the PostgreSQL server; 5432 if absent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`

	// Database is the name of the database; that of the user if absent.
	// +optional
	// +kubebuilder:validation:MinLength=1
	Database *string `json:"database,omitempty"`

	// User is the name of the user.
	// +optional
	// +kubebuilder:validation:MinLength=1
	User *string `json:"user,omitempty"`

	// Password refers to the Secret with the password of PostgreSQL or Redis.
	// +optional
	Password *SecretKeyRef `json:"password,omitempty"`

	// SSLMode is the TLS mode of PostgreSQL's clients.
	// +optional
	// +kubebuilder:validation:Enum=disable;allow;prefer;require;verify-ca;verify-full
	SSLMode *string `json:"sslMode,omitempty"`

	// CABundle refers to the CA certificates of the database, which the server then trusts for all connections.
	// +optional
	CABundle *CABundleConfig `json:"caBundle,omitempty"`
}

// KVStorageType is a key-value storage backend.
// +kubebuilder:validation:Enum=sqlite;redis;postgres
type KVStorageType string

// The key-value storage backends.
const (
	KVStorageSQLite   KVStorageType = "sqlite"
	KVStorageRedis    KVStorageType = "redis"
	KVStoragePostgres KVStorageType = "postgres"
)

// KVStorageSpec configures the key-value storage backend.
//
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'redis' || (has(self.endpoint) && self.endpoint.size() > 0)",message="type redis needs an endpoint: for example endpoint: redis.example.svc:6379"
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type == 'redis') || !has(self.endpoint) || self.endpoint.size() == 0",message="endpoint belongs to type redis: set type: redis, or remove endpoint"
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type in ['redis', 'postgres']) || !has(self.password)",message="password belongs to types redis and postgres: set the type, or remove password"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'postgres' || has(self.connectionString) || has(self.host)",message="type postgres needs a connectionString (a secret reference to a DSN such as postgresql://user:password@host:5432/db), or host, user and password"
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type == 'postgres') || !(has(self.connectionString) || has(self.host) || has(self.caBundle))",message="connectionString, host and caBundle belong to type postgres: set type: postgres, or remove them"
type KVStorageSpec struct {
	// Type is the key-value storage backend.
	// +optional
	// +kubebuilder:default=sqlite
	Type *KVStorageType `json:"type,omitempty"`

	// Endpoint is the Redis endpoint, host:port or redis://host:port. Required if type is "redis".
	// +optional
	Endpoint *string `json:"endpoint,omitempty"`

	DatabaseConnection `json:",inline"`
}

// SQLStorageType is a relational storage backend.
// +kubebuilder:validation:Enum=sqlite;postgres
type SQLStorageType string

// The relational storage backends.
const (
	SQLStorageSQLite   SQLStorageType = "sqlite"
	SQLStoragePostgres SQLStorageType = "postgres"
)

// SQLStorageSpec configures the relational storage backend.
//
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'postgres' || has(self.connectionString) || has(self.host)",message="type postgres needs a connectionString (a secret reference to a DSN such as postgresql://user:password@host:5432/db), or host, user and password"
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type == 'postgres') || !(has(self.connectionString) || has(self.host) || has(self.password) || has(self.caBundle))",message="connectionString, host, password and caBundle belong to type postgres: set type: postgres, or remove them"
type SQLStorageSpec struct {
	// Type is the relational storage backend.
	// +optional
	// +kubebuilder:default=sqlite
	Type *SQLStorageType `json:"type,omitempty"`

	DatabaseConnection `json:",inline"`
}

// StorageBackend is a storage backend by the server's type name.
type StorageBackend struct {
	// Type is the server's type of the backend.
	// +required
	// +kubebuilder:validation:Enum=kv_sqlite;kv_redis;kv_postgres;sql_sqlite;sql_postgres
	Type string `json:"type"`

	// Endpoint is the Redis endpoint, host:port or redis://host:port.
	// +optional
	Endpoint *string `json:"endpoint,omitempty"`

	DatabaseConnection `json:",inline"`

	// TableName is the table of kv_postgres.
	// +optional
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	// +kubebuilder:validation:MaxLength=63
	TableName *string `json:"tableName,omitempty"`

	// PoolSize is the number of connections that stay open.
	// +optional
	// +kubebuilder:validation:Minimum=1
	PoolSize *int32 `json:"poolSize,omitempty"`

	// MaxOverflow is the number of further connections under load.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxOverflow *int32 `json:"maxOverflow,omitempty"`

	// PoolRecycle is the age in seconds at which a connection is replaced; -1 for never.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	PoolRecycle *int32 `json:"poolRecycle,omitempty"`

	// PoolPrePing makes the server test a connection before it uses it.
	// +optional
	PoolPrePing *bool `json:"poolPrePing,omitempty"`

	// CommandTimeout is the time limit of a statement in seconds.
	// +optional
	// +kubebuilder:validation:Minimum=1
	CommandTimeout *int32 `json:"commandTimeout,omitempty"`
}
