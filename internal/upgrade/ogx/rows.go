// SPDX-License-Identifier: Apache-2.0

package ogx

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/provider"
)

// row is a typed list of providers of OGXServer.
type row struct {
	// api is the field in spec.providers, and list the path below it, such as "remote.vllm".
	api, list, providerType string
	// names are the server's names of fields that are not their names in snake case.
	names map[string]string
}

var atBaseURL = map[string]string{"endpoint": "base_url"}

// rows are in the order in which the operator of OGXServer lists the providers: the first one is the default.
var rows = []row{
	{"inference", "remote.vllm", "remote::vllm", atBaseURL},
	{"inference", "remote.openai", "remote::openai", atBaseURL},
	{"inference", "remote.azure", "remote::azure", atBaseURL},
	{"inference", "remote.bedrock", "remote::bedrock", map[string]string{"region": "region_name"}},
	{"inference", "remote.vertexai", "remote::vertexai", nil},
	{"inference", "remote.watsonx", "remote::watsonx", atBaseURL},
	{"vectorIo", "remote.pgvector", "remote::pgvector", nil},
	{"vectorIo", "remote.milvus", "remote::milvus", nil},
	{"vectorIo", "remote.qdrant", "remote::qdrant", nil},
	{"toolRuntime", "remote.braveSearch", "remote::brave-search", nil},
	{"toolRuntime", "remote.tavilySearch", "remote::tavily-search", nil},
	{"toolRuntime", "remote.modelContextProtocol", "remote::model-context-protocol", nil},
	{"toolRuntime", "inline.fileSearch", "inline::file-search", nil},
	{"files", "remote.s3", "remote::s3", nil},
	{"files", "inline.localfs", "inline::localfs", nil},
	{"fileProcessors", "remote.doclingServe", "remote::docling-serve", nil},
	{"fileProcessors", "inline.auto", "inline::auto", nil},
	{"fileProcessors", "inline.docling", "inline::docling", nil},
	{"fileProcessors", "inline.markitdown", "inline::markitdown", nil},
	{"fileProcessors", "inline.pypdf", "inline::pypdf", nil},
	{"batches", "inline.reference", "inline::reference", nil},
	{"responses", "inline.builtin", "inline::builtin", nil},
}

// fractions are the fields that are texts in OGXServer and numbers in the server's configuration.
var fractions = []string{"rrfImpactFactor", "weightedSearchAlpha", "temperature"}

// vectorIndexes are the server's names of the kinds of spec.providers.vectorIo.remote.pgvector[].vectorIndex, and of
// their fields.
var vectorIndexes = map[string]struct {
	server string
	names  map[string]string
}{
	"hnsw":    {"HNSW", map[string]string{"m": "m", "efConstruction": "ef_construction", "efSearch": "ef_search"}},
	"ivfFlat": {"IVFFlat", map[string]string{"nlist": "lists", "nprobe": "probes"}},
}

const vectorIndex = "vectorIndex"

func (r *row) path() string { return "spec.providers." + r.api + "." + r.list }

// isSingle reports whether the row is an object without an id instead of a list.
func (r *row) isSingle() bool { return schema().find(r.path()+"[]") == nil }

// node returns the schema of an entry.
func (r *row) node() *node {
	if r.isSingle() {
		return schema().find(r.path())
	}
	return schema().find(r.path() + "[]")
}

// server returns the server's name of a field.
func (r *row) server(name string) string {
	if server, other := r.names[name]; other {
		return server
	}
	return provider.SnakeCase(name)
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

// defaultID is the id that the operator of OGXServer gives to a provider without one.
func defaultID(providerType string) string { return strings.ReplaceAll(providerType, "::", "-") }

// typed converts the entry to the row's fields; false if the row cannot hold all of it.
func (r *row) typed(e *entry) (map[string]any, bool) {
	typed, used := map[string]any{}, 0
	if _, short, _ := strings.Cut(e.providerType, "::"); !r.isSingle() {
		typed["id"] = e.id
	} else if e.id != short && e.id != defaultID(e.providerType) {
		return nil, false
	}
	for name, f := range r.node().fields {
		from := e.config
		if f.isSecretReference() {
			from = e.secrets
		}
		value, found := from[r.server(name)]
		if !found || name == "id" {
			continue
		}
		value, fits := f.fromServer(name, value)
		if !fits {
			return nil, false
		}
		typed[name] = value
		used++
	}
	return typed, used == len(e.config)+len(e.secrets) && len(r.node().validate(nil, typed)) == 0
}

// entry converts a typed entry, and returns the names of invalid fields.
func (r *row) entry(typed map[string]any) (e *entry, invalid []string) {
	e = &entry{providerType: r.providerType, config: map[string]any{}, secrets: map[string]any{}}
	for _, name := range slices.Sorted(maps.Keys(typed)) {
		f, value := r.node().fields[name], typed[name]
		switch {
		case value == nil:
		case f == nil || len(f.validate(nil, value)) > 0:
			invalid = append(invalid, name)
		case name == "id":
			e.id, _ = value.(string)
		case f.isSecretReference():
			e.secrets[r.server(name)] = value
		default:
			e.config[r.server(name)] = f.toServer(name, value)
		}
	}
	return e, invalid
}

// fromServer converts a value of the server's configuration to the field; false if it has other members.
func (n *node) fromServer(name string, value any) (any, bool) {
	object, isObject := value.(map[string]any)
	switch {
	case name == vectorIndex && isObject:
		return vectorIndexFromServer(object)
	case n.value != nil:
		return value, len(object) > 0
	case isObject && len(n.fields) > 0:
		converted := make(map[string]any, len(object))
		for member, f := range n.fields {
			inner, found := object[provider.SnakeCase(member)]
			if !found {
				continue
			}
			var fits bool
			if converted[member], fits = f.fromServer(member, inner); !fits {
				return nil, false
			}
		}
		return converted, len(converted) == len(object)
	case n.isSecretReference():
		return reference(value)
	case slices.Contains(fractions, name):
		switch number := value.(type) {
		case float64:
			return strconv.FormatFloat(number, 'g', -1, 64), true
		case int64:
			return strconv.FormatInt(number, 10), true
		}
	}
	return value, value != nil
}

// toServer converts a valid value of the field to the server's configuration.
func (n *node) toServer(name string, value any) any {
	object, isObject := value.(map[string]any)
	switch {
	case name == vectorIndex && isObject:
		return vectorIndexToServer(object)
	case isObject && len(n.fields) > 0:
		converted := make(map[string]any, len(object))
		for member, inner := range object {
			if inner != nil {
				converted[provider.SnakeCase(member)] = n.fields[member].toServer(member, inner)
			}
		}
		return converted
	case slices.Contains(fractions, name):
		if number, err := strconv.ParseInt(fmt.Sprint(value), 10, 64); err == nil {
			return number
		} else if number, err := strconv.ParseFloat(fmt.Sprint(value), 64); err == nil && number-number == 0 {
			return number // neither infinite nor NaN
		}
	}
	return value
}

func vectorIndexFromServer(object map[string]any) (any, bool) {
	for kind, index := range vectorIndexes {
		if object["type"] != index.server {
			continue
		}
		members := map[string]any{}
		for name, server := range index.names {
			if value, found := object[server]; found {
				members[name] = value
			}
		}
		return map[string]any{kind: members}, len(members) == len(object)-1
	}
	return nil, false
}

func vectorIndexToServer(object map[string]any) any {
	for kind, index := range vectorIndexes {
		members, isKind := object[kind].(map[string]any)
		if !isKind {
			continue
		}
		converted := map[string]any{"type": index.server}
		for name, value := range members {
			converted[index.names[name]] = value
		}
		return converted
	}
	return map[string]any{}
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
