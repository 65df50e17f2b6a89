// SPDX-License-Identifier: Apache-2.0

package v1alpha2

// StateStorageSpec configures the storage backends of the server's state. An omitted backend keeps the distribution's
// settings; an empty one means sqlite.
type StateStorageSpec struct {
	// KV configures the key-value storage backend (sqlite, redis or postgres).
	// +optional
	KV *KVStorageSpec `json:"kv,omitempty"`

	// SQL configures the relational storage backend (sqlite or postgres).
	// +optional
	SQL *SQLStorageSpec `json:"sql,omitempty"`
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
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type == 'redis') || !has(self.password)",message="password belongs to type redis: set type: redis, or remove password"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'postgres' || has(self.connectionString)",message="type postgres needs a connectionString: a secret reference to a DSN such as postgresql://user:password@host:5432/db"
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type == 'postgres') || !has(self.connectionString)",message="connectionString belongs to type postgres: set type: postgres, or remove connectionString"
type KVStorageSpec struct {
	// Type is the key-value storage backend.
	// +optional
	// +kubebuilder:default=sqlite
	Type *KVStorageType `json:"type,omitempty"`

	// Endpoint is the Redis endpoint, host:port or redis://host:port. Required if type is "redis".
	// +optional
	Endpoint *string `json:"endpoint,omitempty"`

	// Password refers to the Secret with the Redis password.
	// +optional
	Password *SecretKeyRef `json:"password,omitempty"`

	// ConnectionString refers to the Secret with the connection string of a PostgreSQL database, which may be that of sql.
	// Required if type is "postgres".
	// +optional
	ConnectionString *SecretKeyRef `json:"connectionString,omitempty"`
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
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'postgres' || has(self.connectionString)",message="type postgres needs a connectionString: a secret reference to a DSN such as postgresql://user:password@host:5432/db"
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type == 'postgres') || !has(self.connectionString)",message="connectionString belongs to type postgres: set type: postgres, or remove connectionString"
type SQLStorageSpec struct {
	// Type is the relational storage backend.
	// +optional
	// +kubebuilder:default=sqlite
	Type *SQLStorageType `json:"type,omitempty"`

	// ConnectionString refers to the Secret with the database connection string. Required if type is "postgres".
	// +optional
	ConnectionString *SecretKeyRef `json:"connectionString,omitempty"`
}
