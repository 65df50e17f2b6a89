// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"maps"
	"slices"
	"strings"
)

// Line is a release line of the server, such as 0.7, with what it knows.
type Line struct {
	// Name is the release line: "0.7".
	Name string `yaml:"line"`
	// Package is the name of the server's Python package: "llama-stack".
	Package string `yaml:"package"`
	// Release is the newest patch release that knows all this: "0.7.3".
	Release string `yaml:"release,omitempty"`
	// PortEnv is the environment variable that the server takes its port from, before or instead of server.port.
	PortEnv string `yaml:"portEnv"`
	// LogEnv is the environment variable of the log levels, such as "core=warning".
	LogEnv string `yaml:"logEnv,omitempty"`
	// HomeEnv is the environment variable of the directory in which the server keeps its own files.
	HomeEnv string `yaml:"homeEnv,omitempty"`
	// MetricsEnv is the beginning of the names of the environment variables by which the server serves metrics for
	// Prometheus on a port of their own: with _ENDPOINT_ENABLED, _HOST and _PORT. Empty where it serves none.
	MetricsEnv string `yaml:"metricsEnv,omitempty"`
	// NeedsInsecure reports whether the server refuses to start without TLS unless server.insecure is true.
	NeedsInsecure bool `yaml:"needsInsecure"`
	// DefaultStorage reports whether a server whose configuration has no section storage keeps its state below the
	// directory that SQLITE_STORE_DIR names; where not, it demands the section, or takes the reference to the variable for
	// a directory of that name, in its working directory.
	DefaultStorage bool `yaml:"defaultStorage"`
	// RegistersToolGroups reports whether registered_resources.tool_groups counts; where not, the server drops that list
	// and makes the tool groups of its tool_runtime providers by itself.
	RegistersToolGroups bool `yaml:"registersToolGroups"`
	// RegistersVectorStores reports whether the server registers registered_resources.vector_stores; where not, it ignores
	// that list.
	RegistersVectorStores bool `yaml:"registersVectorStores"`
	// AllProviders reports whether a model may name the provider "all", which registers it under its bare name.
	AllProviders bool `yaml:"allProviders"`
	// ServesModelID reports whether a registered model is served as <provider>/<model_id>; where not, as
	// <provider>/<provider_model_id>.
	ServesModelID bool `yaml:"servesModelID"`
	// HostForWorkers reports whether several workers need server.host: without it the server listens on two addresses,
	// which fails.
	HostForWorkers bool `yaml:"hostForWorkers"`
	// WritesConfig reports whether the server writes its configuration, with the values of Secrets, into its directory for
	// temporary files.
	WritesConfig bool `yaml:"writesConfig"`
	// APIsMustBeServed reports whether the server refuses to start when an API under apis has no provider; where not, it
	// leaves the API out, and takes an empty list by its word: no list at all means every API on each release line.
	APIsMustBeServed bool `yaml:"apisMustBeServed"`
	// VerifiesAuthTLS reports whether the server refuses to start with verify_tls: false in its authentication, unless it
	// encrypts nothing.
	VerifiesAuthTLS bool `yaml:"verifiesAuthTLS"`
	// TenantsBreakPostgres reports whether the server fails to keep vector stores and responses in PostgreSQL while it
	// separates tenants.
	TenantsBreakPostgres bool `yaml:"tenantsBreakPostgres,omitempty"`
	// APIs are the APIs that can be named under apis and have providers, by the server's name.
	APIs map[string]API `yaml:"apis,omitempty"`
	// InternalAPIs are the APIs that the server serves by itself and that have no providers, sorted.
	InternalAPIs []string `yaml:"internalAPIs,omitempty"`
	// Sections are the top-level fields of config.yaml.
	Sections map[string]Field `yaml:"sections,omitempty"`
	// Backends are the types of storage backends, by the value of their field type: "kv_redis".
	Backends map[string]Backend `yaml:"backends,omitempty"`
	// Stores are the entries of storage.stores.
	Stores map[string]Store `yaml:"stores,omitempty"`
	// Rows are the provider types of each API, by the server's name of the API, sorted by type.
	Rows map[string][]Provider `yaml:"providers"`
	// Auth are the types of authentication, sorted by type.
	Auth []AuthType `yaml:"auth,omitempty"`
	// Lists are the paths at which the server lists what it has registered beside models: of "vector_stores",
	// "tool_groups" and "connectors" those that it can be asked for.
	Lists map[string]string `yaml:"lists,omitempty"`
	// Rules are what the rules of policies can say.
	Rules Rules `yaml:"rules"`
	// Objects are the fields of the maps that a Field names as its Object.
	Objects map[string]map[string]Field `yaml:"objects,omitempty"`
	// Patches are what is different in older patch releases, the newest difference first; each is a change of what the one
	// before it makes.
	Patches []Patch `yaml:"patches,omitempty"`

	// older are what Patches make, of a release line of Get; before and next are set for what they make: the patch release
	// with which next begins.
	older  []older
	before string
	next   *Line
}

// API is an API of the server that providers serve.
type API struct {
	// Table is the API of its registry of resources ("models" of inference); empty where it has none. An API with a
	// registry is served by a router, with any number of providers and also with none; another one by exactly one
	// provider.
	Table string `yaml:"table,omitempty"`
}

// StoreKind is how something is stored: by key, or in tables.
type StoreKind string

// The kinds of storage.
const (
	KV  StoreKind = "kv"
	SQL StoreKind = "sql"
)

// Place returns the field that says where in a backend of this kind something lies: "namespace" or "table_name".
func (k StoreKind) Place() string {
	if k == KV {
		return "namespace"
	}
	return "table_name"
}

// CredentialForm is how a storage backend takes its credentials.
type CredentialForm string

// The forms of credentials.
const (
	// CredentialsURLHost means that a password stands before the host, percent-encoded: the server makes a URL of host and
	// port.
	CredentialsURLHost CredentialForm = "urlHost"
	// CredentialsURLParts means fields of which the server makes a URL without encoding them; the password goes by
	// PGPASSWORD.
	CredentialsURLParts CredentialForm = "urlParts"
	// CredentialsParts means fields that reach the driver as they are; the password goes by PGPASSWORD.
	CredentialsParts CredentialForm = "parts"
	// CredentialsURI means that one field, connection_string, takes it all.
	CredentialsURI CredentialForm = "uri"
)

var credentialForms = []CredentialForm{"", CredentialsURLHost, CredentialsURLParts, CredentialsParts, CredentialsURI}

// Backend is a type of storage backend.
type Backend struct {
	// Credentials is the form in which it takes credentials; empty where the custom resource gives it none.
	Credentials CredentialForm `yaml:"credentials,omitempty"`
	// Echoed reports that the server prints at start what holds the password, unless its logging is turned down.
	Echoed bool `yaml:"echoed,omitempty"`
	// Instead says, for a field of the custom resource that the backend cannot take, what to do instead.
	Instead map[string]string `yaml:"instead,omitempty"`
	// Environment are the variables that its client reads where its own config field is not set, and that field.
	Environment map[string]string `yaml:"environment,omitempty"`
	// Fields are its fields but type, by name.
	Fields map[string]Field `yaml:"fields"`
}

// Store is an entry of storage.stores.
type Store struct {
	// Kind is the kind of backend that it must name.
	Kind StoreKind `yaml:"kind"`
	// Default is the namespace or the table that the server itself chooses; empty where it keeps nothing unless told to.
	Default string `yaml:"default,omitempty"`
	// Object names the fields of the entry; empty for no others than backend and namespace or table_name.
	Object string `yaml:"object,omitempty"`
}

// FieldType is the type of a config field.
type FieldType string

// The types of config fields. TypeAny stands for a field that takes more than one type.
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
	// Type is the type that the server demands.
	Type FieldType `yaml:"type"`
	// Secret reports that the value is a secret.
	Secret bool `yaml:"secret,omitempty"`
	// Required reports that the server refuses a config without the field, or fails for want of it.
	Required bool `yaml:"required,omitempty"`
	// Nullable reports that null will do for a field that is required, or that has a default.
	Nullable bool `yaml:"nullable,omitempty"`
	// Store reports that the field refers to a storage backend of this kind; it is a map of backend and Store.Place then.
	Store StoreKind `yaml:"store,omitempty"`
	// Object names the fields of a map, or of the maps of a list; empty where they are not known or free.
	Object string `yaml:"object,omitempty"`
	// AnyOf are the types of which a field of TypeAny takes any; empty where they are not known.
	AnyOf []FieldType `yaml:"anyOf,omitempty"`
	// Elements is the type of the items of a list, or of the values of a map whose keys are free; empty where it is not
	// known, or where Object has more.
	Elements FieldType `yaml:"elements,omitempty"`
	// Values are the only values that a string may have, or the strings of a list or a map.
	Values []string `yaml:"values,omitempty"`
	// Min and Max are the least and the greatest that a number may be, and Above what it must be greater than; nil where
	// there is no limit.
	Min   *float64 `yaml:"min,omitempty"`
	Max   *float64 `yaml:"max,omitempty"`
	Above *float64 `yaml:"above,omitempty"`
	// Chooses reports that the value reports about which kind the map is that the field stands in; Only are the kinds that
	// have the field, and empty where all have.
	Chooses bool     `yaml:"chooses,omitempty"`
	Only    []string `yaml:"only,omitempty"`
	// Default is the server's own value where it is a number, a boolean or a short string.
	Default any `yaml:"default,omitempty"`
	// AliasOf is the field that this one is another name of.
	AliasOf string `yaml:"aliasOf,omitempty"`
}

// Element returns what an item of a list, or a value of a map with free keys, must be; false where nothing is known of
// it.
func (f Field) Element() (Field, bool) {
	switch {
	case f.Elements != "":
		return Field{Type: f.Elements, Values: f.Values, Required: true}, true
	case f.Object != "":
		return Field{Type: TypeMap, Object: f.Object, Required: true}, true
	}
	return Field{}, false
}

// Chosen returns those of the fields of a map that its kind has. value returns the value of a field as text, empty
// where it has none. Where the kind is not known, all fields may be there, and those that only some kinds have need
// not.
func Chosen(fields map[string]Field, value func(name string) string) map[string]Field {
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

// FullType gives the name of a provider type its prefix: remote, unless the release line knows the name only as inline.
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

// APINames returns the names of the APIs that have providers, sorted.
func (l *Line) APINames() []string { return slices.Sorted(maps.Keys(l.APIs)) }

// ServerFields returns the fields of the section server.
func (l *Line) ServerFields() map[string]Field { return l.Objects[l.Sections["server"].Object] }

// ResourceFields returns the fields of the entries of a list under registered_resources, such as "models"; false where
// the release line has no such list.
func (l *Line) ResourceFields(list string) (map[string]Field, bool) {
	field, ok := l.Objects[l.Sections["registered_resources"].Object][list]
	return l.Objects[field.Object], ok
}

// MCPToolGroups stands for the tool groups mcp::<id>, one for each MCP server, in Provider.ToolGroup and
// ToolGroupProviders.
const MCPToolGroups = "mcp::"

// ToolGroups returns the tool groups that any provider type of the release line serves, sorted.
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

// APIOf returns the API that a name under apis or Provider.Needs means: the API itself, or the one whose registry it is
// ("inference" for "models"). It is false for an API that the server serves by itself, and for an unknown one.
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

// ToolGroupProviders returns the provider types of tool_runtime that serve a tool group such as "builtin::websearch",
// sorted.
func (l *Line) ToolGroupProviders(id string) []string {
	var types []string
	for i := range l.Rows["tool_runtime"] {
		if row := &l.Rows["tool_runtime"][i]; row.ToolGroup == id {
			types = append(types, row.Type)
		}
	}
	return types
}
