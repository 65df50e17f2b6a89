// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"maps"
	"slices"
	"strings"
)

// Line is a release line of the server, such as 0.7.
type Line struct {
	// Name is the release line: "0.7".
	Name string `yaml:"line"`
	// Package is the name of the server's Python package: "llama-stack".
	Package string `yaml:"package"`
	// Release is the newest patch release that the data describes: "0.7.3".
	Release string `yaml:"release,omitempty"`
	// PortEnv is the environment variable that overrides or replaces server.port.
	PortEnv string `yaml:"portEnv"`
	// LogEnv is the environment variable of the log levels, such as "core=warning".
	LogEnv string `yaml:"logEnv,omitempty"`
	// HomeEnv is the environment variable of the directory for the server's own files.
	HomeEnv string `yaml:"homeEnv,omitempty"`
	// MetricsEnv is the prefix of _ENDPOINT_ENABLED, _HOST and _PORT for the Prometheus endpoint, if there is one.
	MetricsEnv string `yaml:"metricsEnv,omitempty"`
	// NeedsInsecure means that the server needs TLS or server.insecure: true to start.
	NeedsInsecure bool `yaml:"needsInsecure"`
	// DefaultStorage means that a server without section storage keeps its state in $SQLITE_STORE_DIR. Otherwise it
	// requires the section, or uses the unexpanded reference as a directory name.
	DefaultStorage bool `yaml:"defaultStorage"`
	// RegistersToolGroups means that the server reads tool_groups; otherwise it derives them from its providers.
	RegistersToolGroups bool `yaml:"registersToolGroups"`
	// RegistersVectorStores means that the server reads registered_resources.vector_stores.
	RegistersVectorStores bool `yaml:"registersVectorStores"`
	// AllProviders means that a model may name the provider "all", which registers it under its bare name.
	AllProviders bool `yaml:"allProviders"`
	// ServesModelID means that a model is served as <provider>/<model_id>, otherwise as <provider>/<provider_model_id>.
	ServesModelID bool `yaml:"servesModelID"`
	// HostForWorkers means that several workers need server.host; without it the server fails to listen on two addresses.
	HostForWorkers bool `yaml:"hostForWorkers"`
	// WritesConfig means that the server writes its configuration, with Secret values, to its temporary directory.
	WritesConfig bool `yaml:"writesConfig"`
	// APIsMustBeServed means that the server requires a provider for each API under apis. Otherwise it omits such APIs,
	// and an empty list means no APIs.
	APIsMustBeServed bool `yaml:"apisMustBeServed"`
	// VerifiesAuthTLS means that a server with TLS refuses verify_tls: false in its authentication.
	VerifiesAuthTLS bool `yaml:"verifiesAuthTLS"`
	// TenantsBreakPostgres means that vector stores and responses fail in PostgreSQL with tenancy.
	TenantsBreakPostgres bool `yaml:"tenantsBreakPostgres,omitempty"`
	// APIs are the APIs with providers that can be named under apis, by the server's name.
	APIs map[string]API `yaml:"apis,omitempty"`
	// InternalAPIs are the APIs that the server serves without providers, sorted.
	InternalAPIs []string `yaml:"internalAPIs,omitempty"`
	// Sections are the top-level fields of config.yaml.
	Sections map[string]Field `yaml:"sections,omitempty"`
	// Backends are the storage backends by type, such as "kv_redis".
	Backends map[string]Backend `yaml:"backends,omitempty"`
	// Stores are the entries of storage.stores.
	Stores map[string]Store `yaml:"stores,omitempty"`
	// Rows are the provider types by API, sorted by type.
	Rows map[string][]Provider `yaml:"providers"`
	Auth []AuthType            `yaml:"auth,omitempty"`
	// Lists are the paths of the server's lists of vector_stores, tool_groups and connectors.
	Lists map[string]string `yaml:"lists,omitempty"`
	Rules Rules             `yaml:"rules"`
	// Objects are the fields of the maps that Field.Object names.
	Objects map[string]map[string]Field `yaml:"objects,omitempty"`
	// Patches are the differences of older patch releases, newest first; each applies to the result of the one before it.
	Patches []Patch `yaml:"patches,omitempty"`

	// older are the patched release lines of one from Get; before is the patch release with which next begins.
	older  []older
	before string
	next   *Line
}

// API is an API of the server that providers serve.
type API struct {
	// Table is the API of its resource registry ("models" for inference), or "". An API with a registry may have any
	// number of providers, otherwise it has exactly one.
	Table string `yaml:"table,omitempty"`
}

// StoreKind is the kind of a storage backend: key-value or SQL.
type StoreKind string

// The kinds of storage.
const (
	KV  StoreKind = "kv"
	SQL StoreKind = "sql"
)

// LocationField returns the field of the storage location in a backend: "namespace" or "table_name".
func (k StoreKind) LocationField() string {
	if k == KV {
		return "namespace"
	}
	return "table_name"
}

// ReferenceFields returns the fields of a reference to a storage backend.
func (k StoreKind) ReferenceFields() map[string]Field {
	text := Field{Type: TypeString, Required: true}
	return map[string]Field{"backend": text, k.LocationField(): text}
}

// CredentialForm says how a storage backend takes its credentials.
type CredentialForm string

const (
	// CredentialsURLHost means a percent-encoded password before the host: the server builds a URL from host and port.
	CredentialsURLHost CredentialForm = "urlHost"
	// CredentialsURLParts means fields that the server joins to a URL without encoding; the password is in PGPASSWORD.
	CredentialsURLParts CredentialForm = "urlParts"
	// CredentialsParts means fields that the driver gets unchanged; the password is in PGPASSWORD.
	CredentialsParts CredentialForm = "parts"
	// CredentialsURI means one field, connection_string.
	CredentialsURI CredentialForm = "uri"
)

var credentialForms = []CredentialForm{"", CredentialsURLHost, CredentialsURLParts, CredentialsParts, CredentialsURI}

// Backend is a type of storage backend.
type Backend struct {
	// Credentials is the form of its credentials; empty if the custom resource sets none.
	Credentials CredentialForm `yaml:"credentials,omitempty"`
	// LogsPassword means that the server logs the password at startup, unless its log level is lowered.
	LogsPassword bool `yaml:"echoed,omitempty"`
	// Instead says what to use instead of an unsupported field of the custom resource.
	Instead map[string]string `yaml:"instead,omitempty"`
	// Environment maps variables that the client reads to the config field that replaces them.
	Environment map[string]string `yaml:"environment,omitempty"`
	// Fields are its fields without type, by name.
	Fields map[string]Field `yaml:"fields"`
}

// Store is an entry of storage.stores.
type Store struct {
	Kind StoreKind `yaml:"kind"`
	// Default is the server's default namespace or table; empty if the server stores nothing by default.
	Default string `yaml:"default,omitempty"`
	// Object names the fields of the entry; empty if it has only backend and namespace or table_name.
	Object string `yaml:"object,omitempty"`
}

// FieldType is the type of a config field.
type FieldType string

// The types of config fields. TypeAny is a field with more than one type.
const (
	TypeString FieldType = "string"
	TypeInt    FieldType = "int"
	TypeBool   FieldType = "bool"
	TypeFloat  FieldType = "float"
	TypeURL    FieldType = "url"
	TypeList   FieldType = "list"
	TypeMap    FieldType = "map"
	TypeAny    FieldType = "any"
)

var fieldTypes = []FieldType{TypeString, TypeInt, TypeBool, TypeFloat, TypeURL, TypeList, TypeMap, TypeAny}

// Field is one field of a config.
type Field struct {
	Type   FieldType `yaml:"type"`
	Secret bool      `yaml:"secret,omitempty"`
	// Required means that the server fails without the field.
	Required bool `yaml:"required,omitempty"`
	// Nullable means that the field may be null although it is required or has a default.
	Nullable bool `yaml:"nullable,omitempty"`
	// NotNull means that the field may be absent but not null; for one with a default, Nullable says it.
	NotNull bool `yaml:"notNull,omitempty"`
	// Store is the kind of the storage backend that the field refers to, as a map of backend and Store.Place.
	Store StoreKind `yaml:"store,omitempty"`
	// Object names the fields of a map, or of the maps in a list; empty if unknown or free.
	Object string `yaml:"object,omitempty"`
	// AnyOf are the types of a TypeAny field; empty if unknown.
	AnyOf []FieldType `yaml:"anyOf,omitempty"`
	// Elements is the type of list items or free map values; empty if unknown, or if Object describes them.
	Elements FieldType `yaml:"elements,omitempty"`
	// Values are the allowed strings, of the field itself or of its items.
	Values []string `yaml:"values,omitempty"`
	// Min and Max are the inclusive bounds of a number and Above an exclusive lower bound; nil for unbounded.
	Min   *float64 `yaml:"min,omitempty"`
	Max   *float64 `yaml:"max,omitempty"`
	Above *float64 `yaml:"above,omitempty"`
	// Chooses means that the value selects the kind of its map; Only are the kinds with the field, empty for all.
	Chooses bool     `yaml:"chooses,omitempty"`
	Only    []string `yaml:"only,omitempty"`
	// Default is the server's default if it is a number, a boolean or a short string.
	Default any `yaml:"default,omitempty"`
	// AliasOf is the field that this one is an alias of.
	AliasOf string `yaml:"aliasOf,omitempty"`
}

// Element returns the field that describes list items or free map values, and false if they are unknown.
func (f Field) Element() (Field, bool) {
	switch {
	case f.Elements != "":
		return Field{Type: f.Elements, Values: f.Values, Required: true}, true
	case f.Object != "":
		return Field{Type: TypeMap, Object: f.Object, Required: true}, true
	}
	return Field{}, false
}

// FieldsForKind returns the fields of a map for its kind, which it reads with value. If the kind is unknown, it returns
// all fields, with kind-specific ones optional.
func FieldsForKind(fields map[string]Field, value func(name string) string) map[string]Field {
	chooser := ""
	for name := range fields {
		if fields[name].Chooses && (chooser == "" || name < chooser) {
			chooser = name
		}
	}
	if chooser == "" {
		return fields
	}
	kind := value(chooser)
	known := slices.Contains(fields[chooser].Values, kind)
	chosen := make(map[string]Field, len(fields))
	for name, field := range fields {
		switch {
		case len(field.Only) == 0 || known && slices.Contains(field.Only, kind):
			chosen[name] = field
		case !known:
			field.Required = false
			chosen[name] = field
		}
	}
	return chosen
}

// Provider returns the row of a provider type, such as "remote::vllm", of an API, such as "inference".
func (l *Line) Provider(api, providerType string) (*Provider, bool) {
	rows := l.Rows[api]
	at, ok := slices.BinarySearchFunc(rows, providerType, func(p Provider, t string) int {
		return strings.Compare(p.Type, t)
	})
	if !ok {
		return nil, false
	}
	return &rows[at], true
}

// FullType adds the prefix to the name of a provider type: inline if the release line has only that, otherwise remote.
func (l *Line) FullType(api, name string) string {
	if strings.Contains(name, "::") {
		return name
	}
	remote, inline := "remote::"+name, "inline::"+name
	_, knownRemote := l.Provider(api, remote)
	if _, knownInline := l.Provider(api, inline); knownInline && !knownRemote {
		return inline
	}
	return remote
}

// ProviderTypes returns the provider types of an API, sorted.
func (l *Line) ProviderTypes(api string) []string {
	types := make([]string, 0, len(l.Rows[api]))
	for i := range l.Rows[api] {
		types = append(types, l.Rows[api][i].Type)
	}
	return types
}

// HasOneProvider reports whether an API has exactly one provider: the server uses the last one in the list.
func (l *Line) HasOneProvider(api string) bool {
	described, known := l.APIs[api]
	return known && described.Table == ""
}

// APINames returns the names of the APIs that have providers, sorted.
func (l *Line) APINames() []string { return slices.Sorted(maps.Keys(l.APIs)) }

// ServerFields returns the fields of the section server.
func (l *Line) ServerFields() map[string]Field { return l.Objects[l.Sections["server"].Object] }

// ResourceFields returns the fields of entries in a list of registered_resources, such as "models", if it exists.
func (l *Line) ResourceFields(list string) (map[string]Field, bool) {
	field, ok := l.Objects[l.Sections["registered_resources"].Object][list]
	return l.Objects[field.Object], ok
}

// MCPToolGroups represents the tool groups mcp::<id> of MCP servers in Provider.ToolGroup and ToolGroupProviders.
const MCPToolGroups = "mcp::"

// ToolGroups returns the tool groups of all provider types, sorted.
func (l *Line) ToolGroups() []string {
	var ids []string
	for i := range l.Rows["tool_runtime"] {
		if id := l.Rows["tool_runtime"][i].ToolGroup; id != "" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// APIOf returns the API for a name under apis or in Provider.Needs: the API itself, or the API whose registry has the
// name. It returns false for internal and unknown APIs.
func (l *Line) APIOf(name string) (string, bool) {
	if _, ok := l.APIs[name]; ok {
		return name, true
	}
	for api, described := range l.APIs {
		if described.Table == name && name != "" {
			return api, true
		}
	}
	return "", false
}

// ToolGroupProviders returns the tool_runtime provider types for a tool group such as "builtin::websearch", sorted.
func (l *Line) ToolGroupProviders(id string) []string {
	var types []string
	for i := range l.Rows["tool_runtime"] {
		if row := &l.Rows["tool_runtime"][i]; row.ToolGroup == id {
			types = append(types, row.Type)
		}
	}
	return types
}
