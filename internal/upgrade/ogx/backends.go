// SPDX-License-Identifier: Apache-2.0

package ogx

import (
	"maps"
	"slices"
	"strings"
)

// backendFields are the fields of a backend of OGXServer with the names that a LlamaStackDistribution has for them.
var backendFields = map[string]string{
	"type": "type", "host": "host", "port": "port", "db": "database", "user": "user", "sslMode": "sslMode",
	"tableName": "tableName", "poolSize": "poolSize", "maxOverflow": "maxOverflow", "poolRecycle": "poolRecycle",
	"poolPrePing": "poolPrePing", "commandTimeout": "commandTimeout",
}

// toBackends converts the named backends and stores. Without stores, an OGXServer has one backend of each kind, which
// all state of the kind uses: those are kv and sql of a LlamaStackDistribution unless they have fields of their own.
func toBackends(s *source, to map[string]any) {
	const backends, stores = "spec.storage.backends", "spec.storage.stores"
	given, _ := get(s.tree, backends).(map[string]any)
	_, named := get(s.tree, stores).(map[string]any)
	hasStores := named
	for _, b := range given {
		backend, _ := b.(map[string]any)
		named = named || hasTuning(backend)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		b := s.at("spec", "storage", "backends", name)
		kind, system, _ := strings.Cut(text(b["type"]), "_")
		if !slices.Contains([]string{"kv", "sql"}, kind) {
			continue // lost
		}
		at := backends + "." + name
		switch {
		case !named:
			at = "spec.storage." + kind
		case !hasStores:
			at = backends + "." + kind + "_default"
		}
		for _, field := range slices.Sorted(maps.Keys(backendFields)) {
			value := b[field]
			if port, isText := value.(string); value == nil || field == "port" && isText && port != "" {
				continue // a port from the environment is lost
			}
			if field == "type" && !named {
				value = system
			}
			put(to, at+"."+backendFields[field], value)
			delete(b, field)
		}
		if password, ok := reference(b["password"]); ok {
			put(to, at+".password", password)
			delete(b, "password")
		}
	}
	for name, value := range s.at("spec", "storage", "stores") {
		store, _ := value.(map[string]any)
		if backend := text(store["backend"]); backend != "" {
			put(to, stores+"."+name, map[string]any{"backend": backend})
			delete(s.at("spec", "storage", "stores", name), "backend")
		}
	}
}

// hasTuning reports whether a backend has fields that kv and sql lack.
func hasTuning(b map[string]any) bool {
	return slices.ContainsFunc([]string{"tableName", "poolSize", "maxOverflow", "poolRecycle", "poolPrePing",
		"commandTimeout"}, func(field string) bool { return b[field] != nil })
}

func text(value any) string {
	s, _ := value.(string)
	return s
}
