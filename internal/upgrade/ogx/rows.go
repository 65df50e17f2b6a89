// SPDX-License-Identifier: Apache-2.0

package ogx

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// kind is what a field of a typed entry holds.
type kind int

const (
	text kind = iota
	integer
	boolean
	texts
	network
	secret
)

// row is a typed entry of OGXServer: which type of providers it is for, and its fields, each with the server's name of
// the field.
type row struct {
	api, providerType string
	// key is the field of spec.providers.<api>.remote that lists such entries.
	key      string
	fields   map[string]field
	required []string
}

type field struct {
	server string
	kind   kind
}

// fieldsOf makes the fields of a row: text of a comma-separated list, "maxTokens:integer", with the server's name in
// snake case unless it follows "=".
func fieldsOf(list string) map[string]field {
	kinds := map[string]kind{"": text, "integer": integer, "boolean": boolean, "texts": texts, "network": network,
		"secret": secret}
	fields := map[string]field{}
	for item := range strings.FieldsSeq(list) {
		name, server, _ := strings.Cut(item, "=")
		name, of, _ := strings.Cut(name, ":")
		if server == "" {
			server = snake(name)
		}
		fields[name] = field{server, kinds[of]}
	}
	return fields
}

// models are the fields that all model servers have.
const models = " allowedModels:texts refreshModels:boolean network:network"

var rows = []row{
	{"inference", "remote::vllm", "vllm", fieldsOf("endpoint=base_url apiToken:secret maxTokens:integer" + models),
		[]string{"endpoint"}},
	{"inference", "remote::openai", "openai", fieldsOf("endpoint=base_url apiKey:secret" + models), []string{"apiKey"}},
	{"inference", "remote::azure", "azure", fieldsOf("endpoint=base_url apiKey:secret apiVersion apiType" + models),
		[]string{"endpoint", "apiKey"}},
	{"inference", "remote::bedrock", "bedrock", fieldsOf("region=region_name apiKey:secret awsAccessKeyId:secret " +
		"awsSecretAccessKey:secret awsSessionToken:secret awsRoleArn awsWebIdentityTokenFile awsRoleSessionName " +
		"profileName totalMaxAttempts:integer retryMode " +
		"connectTimeout:integer readTimeout:integer sessionTTL:integer=session_ttl" + models), []string{"region"}},
	{"inference", "remote::vertexai", "vertexai", fieldsOf("project location" + models), []string{"project"}},
	{"inference", "remote::watsonx", "watsonx",
		fieldsOf("endpoint=base_url apiKey:secret projectId timeout:integer" + models), []string{"apiKey"}},
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

// snake is a name in snake case.
func snake(name string) string {
	return capitals.ReplaceAllStringFunc(name, func(c string) string { return "_" + strings.ToLower(c) })
}

var underscores = regexp.MustCompile(`_[a-z]`)

// camel is a name in camel case.
func camel(name string) string {
	return underscores.ReplaceAllStringFunc(name, func(c string) string { return strings.ToUpper(c[1:]) })
}

// entry is a provider as both kinds can say it: the server's fields, and secret references for some of them.
type entry struct {
	id, providerType string
	config           map[string]any
	secrets          map[string]any
}

// typed returns the entry as the row has it; false where that cannot hold all of it.
func (r *row) typed(e *entry) (map[string]any, bool) {
	made, used := map[string]any{"id": e.id}, 0
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
		made[name] = value
		used++
	}
	for _, name := range r.required {
		if _, given := made[name]; !given {
			return nil, false
		}
	}
	return made, used == len(e.config)+len(e.secrets)
}

// entry returns what the typed entry says, and the names of the fields that it cannot be taken from.
func (r *row) entry(made map[string]any) (e *entry, strange []string) {
	e = &entry{providerType: r.providerType, config: map[string]any{}, secrets: map[string]any{}}
	for _, name := range slices.Sorted(maps.Keys(made)) {
		f, known := r.fields[name]
		id, isText := made[name].(string)
		if name == "id" && isText {
			e.id = id
			continue
		}
		value, fits := f.kind.rename(made[name], snake)
		switch {
		case made[name] == nil:
		case !known || !fits:
			strange = append(strange, name)
		case f.kind == secret:
			e.secrets[f.server] = value
		default:
			e.config[f.server] = value
		}
	}
	return e, strange
}

// rename returns the value of a field, with the names in it in the other case; false where the field cannot have it.
func (k kind) rename(value any, to func(string) string) (any, bool) {
	fits := false
	switch k {
	case text:
		_, fits = value.(string)
	case integer:
		_, fits = value.(int64)
	case boolean:
		_, fits = value.(bool)
	case texts:
		list, isList := value.([]any)
		fits = isList && !slices.ContainsFunc(list, func(item any) bool { _, isText := item.(string); return !isText })
	case network:
		object, isObject := value.(map[string]any)
		return renamed(object, to), isObject
	case secret:
		return reference(value)
	}
	return value, fits
}

// renamed is an object with its names in the other case, but for those of headers.
func renamed(object map[string]any, to func(string) string) map[string]any {
	made := make(map[string]any, len(object))
	for name, value := range object {
		if inner, isObject := value.(map[string]any); isObject && name != "headers" {
			value = renamed(inner, to)
		}
		made[to(name)] = value
	}
	return made
}

// reference is a secret reference in its short form.
func reference(value any) (any, bool) {
	object, _ := value.(map[string]any)
	if nested, isNested := object["secretKeyRef"].(map[string]any); isNested && len(object) == 1 {
		object = nested
	}
	name, hasName := object["name"].(string)
	key, hasKey := object["key"].(string)
	return map[string]any{"name": name, "key": key}, hasName && hasKey && len(object) == 2
}
