// SPDX-License-Identifier: Apache-2.0

package ogx

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

type kind int

const (
	text kind = iota
	integer
	boolean
	textList
	network
	secret
)

// row is a typed provider entry of OGXServer, with the server's names of its fields.
type row struct {
	api, providerType string
	// key is the list's field in spec.providers.<api>.remote.
	key      string
	fields   map[string]field
	required []string
}

type field struct {
	server string
	kind   kind
}

// fieldsOf parses a space-separated list of fields such as "maxTokens:integer". The server's name of a field is in
// snake case unless "=" gives another.
func fieldsOf(list string) map[string]field {
	kinds := map[string]kind{"": text, "integer": integer, "boolean": boolean, "texts": textList, "network": network,
		"secret": secret}
	fields := map[string]field{}
	for item := range strings.FieldsSeq(list) {
		name, server, _ := strings.Cut(item, "=")
		name, kindName, _ := strings.Cut(name, ":")
		if server == "" {
			server = snake(name)
		}
		fields[name] = field{server, kinds[kindName]}
	}
	return fields
}

const modelFields = " allowedModels:texts refreshModels:boolean network:network"

var rows = []row{
	{"inference", "remote::vllm", "vllm", fieldsOf("endpoint=base_url apiToken:secret maxTokens:integer" + modelFields),
		[]string{"endpoint"}},
	{"inference", "remote::openai", "openai", fieldsOf("endpoint=base_url apiKey:secret" + modelFields),
		[]string{"apiKey"}},
	{"inference", "remote::azure", "azure", fieldsOf("endpoint=base_url apiKey:secret apiVersion apiType" + modelFields),
		[]string{"endpoint", "apiKey"}},
	{"inference", "remote::bedrock", "bedrock", fieldsOf("region=region_name apiKey:secret awsAccessKeyId:secret " +
		"awsSecretAccessKey:secret awsSessionToken:secret awsRoleArn awsWebIdentityTokenFile awsRoleSessionName " +
		"profileName totalMaxAttempts:integer retryMode " +
		"connectTimeout:integer readTimeout:integer sessionTTL:integer=session_ttl" + modelFields), []string{"region"}},
	{"inference", "remote::vertexai", "vertexai", fieldsOf("project location" + modelFields), []string{"project"}},
	{"inference", "remote::watsonx", "watsonx",
		fieldsOf("endpoint=base_url apiKey:secret projectId timeout:integer" + modelFields), []string{"apiKey"}},
	{"vectorIo", "remote::milvus", "milvus", fieldsOf("uri token:secret consistencyLevel"), []string{"uri"}},
	{"vectorIo", "remote::pgvector", "pgvector", fieldsOf("host port:integer db user password:secret distanceMetric"),
		[]string{"password"}},
	{"vectorIo", "remote::qdrant", "qdrant", fieldsOf("url location host port:integer grpcPort:integer " +
		"preferGrpc:boolean https:boolean apiKey:secret prefix timeout:integer"), nil},
	{"toolRuntime", "remote::brave-search", "braveSearch", fieldsOf("apiKey:secret maxResults:integer"),
		[]string{"apiKey"}},
	{"toolRuntime", "remote::tavily-search", "tavilySearch", fieldsOf("apiKey:secret maxResults:integer"),
		[]string{"apiKey"}},
	{"toolRuntime", "remote::model-context-protocol", "modelContextProtocol", nil, nil},
}

var capitals = regexp.MustCompile(`[A-Z]`)

func snake(name string) string {
	return capitals.ReplaceAllStringFunc(name, func(c string) string { return "_" + strings.ToLower(c) })
}

var underscores = regexp.MustCompile(`_[a-z]`)

func camel(name string) string {
	return underscores.ReplaceAllStringFunc(name, func(c string) string { return strings.ToUpper(c[1:]) })
}

// entry is a provider with the server's field names.
type entry struct {
	id, providerType string
	config           map[string]any
	secrets          map[string]any
}

// typed converts the entry to the row's fields; false if the row cannot hold all of it.
func (r *row) typed(e *entry) (map[string]any, bool) {
	typed, used := map[string]any{"id": e.id}, 0
	for name, f := range r.fields {
		from := e.config
		if f.kind == secret {
			from = e.secrets
		}
		value, found := from[f.server]
		if !found {
			continue
		}
		value, fits := f.kind.rename(value, camel)
		if !fits {
			return nil, false
		}
		typed[name] = value
		used++
	}
	for _, name := range r.required {
		if _, given := typed[name]; !given {
			return nil, false
		}
	}
	return typed, used == len(e.config)+len(e.secrets)
}

// entry converts a typed entry, and returns the names of invalid fields.
func (r *row) entry(typed map[string]any) (e *entry, invalid []string) {
	e = &entry{providerType: r.providerType, config: map[string]any{}, secrets: map[string]any{}}
	for _, name := range slices.Sorted(maps.Keys(typed)) {
		f, known := r.fields[name]
		id, isText := typed[name].(string)
		if name == "id" && isText {
			e.id = id
			continue
		}
		value, fits := f.kind.rename(typed[name], snake)
		switch {
		case typed[name] == nil:
		case !known || !fits:
			invalid = append(invalid, name)
		case f.kind == secret:
			e.secrets[f.server] = value
		default:
			e.config[f.server] = value
		}
	}
	return e, invalid
}

// rename converts a value, with nested names in the other case; false if the type is wrong.
func (k kind) rename(value any, to func(string) string) (any, bool) {
	fits := false
	switch k {
	case text:
		_, fits = value.(string)
	case integer:
		_, fits = value.(int64)
	case boolean:
		_, fits = value.(bool)
	case textList:
		list, isList := value.([]any)
		fits = isList && !slices.ContainsFunc(list, func(item any) bool { _, isText := item.(string); return !isText })
	case network:
		object, isObject := value.(map[string]any)
		return renameKeys(object, to), isObject
	case secret:
		return reference(value)
	}
	return value, fits
}

func renameKeys(object map[string]any, to func(string) string) map[string]any {
	result := make(map[string]any, len(object))
	for name, value := range object {
		if inner, isObject := value.(map[string]any); isObject && name != "headers" {
			value = renameKeys(inner, to)
		}
		result[to(name)] = value
	}
	return result
}

// reference returns a Secret reference in its short form.
func reference(value any) (any, bool) {
	object, _ := value.(map[string]any)
	if nested, isNested := object["secretKeyRef"].(map[string]any); isNested && len(object) == 1 {
		object = nested
	}
	name, hasName := object["name"].(string)
	key, hasKey := object["key"].(string)
	return map[string]any{"name": name, "key": key}, hasName && hasKey && len(object) == 2
}
