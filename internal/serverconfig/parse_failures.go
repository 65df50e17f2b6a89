// SPDX-License-Identifier: Apache-2.0

package serverconfig

import (
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// parseFailures records unreadable fields of the spec. Problems that may follow from them are omitted.
type parseFailures struct {
	// fields are the unreadable fields.
	fields map[string]bool
	// entriesWithUnknownKeys are the entries with an unknown key, which may be a misspelled required one.
	entriesWithUnknownKeys map[string]bool
	// nameless are entries with an unknown name and their lists; typeless are entries with an unknown provider type.
	nameless, typeless map[string]bool
}

func newParseFailures(problems problem.List) *parseFailures {
	m := &parseFailures{
		fields: map[string]bool{}, entriesWithUnknownKeys: map[string]bool{},
		nameless: map[string]bool{}, typeless: map[string]bool{},
	}
	for i := range problems {
		path := problems[i].Path
		m.fields[path] = true
		entry, key := splitEntry(path)
		list, _, _ := strings.Cut(entry, "[")
		switch key {
		case "", "provider":
			m.nameless[list], m.nameless[entry], m.typeless[entry] = true, true, true
		case "id", "providerId", "name", "model", "providerModelId":
			m.nameless[list], m.nameless[entry] = true, true
			m.typeless[entry] = list == "spec.resources.tools" // the name implies the type
		case "endpointFrom":
			m.fields[entry+".endpoint"] = true // an unreadable endpointFrom leaves endpoint unset
		case "modelType", "embeddingDimension", "metadata":
			m.nameless[list] = true // the requirements of vector stores are unknown
		}
		if problems[i].Reason == problem.UnknownField {
			m.entriesWithUnknownKeys[entry] = true
			m.nameless[list] = m.nameless[list] || list == "spec.resources.models" // may be a misspelled modelType or metadata
		}
	}
	return m
}

// mayCause reports whether a problem may follow from an unreadable field.
func (m *parseFailures) mayCause(p problem.Problem) bool {
	entry, _ := splitEntry(p.Path)
	switch {
	case !strings.HasPrefix(p.Path, "spec"):
		return true // the configuration is incomplete
	case m.fields[p.Path], m.within(p.Path):
		return true
	case m.typeless[entry]:
		return true // valid fields depend on the type
	}
	list, _, _ := strings.Cut(entry, "[")
	dangling := slices.ContainsFunc(referredBy[list], func(to string) bool { return m.nameless[to] })
	switch p.Reason { //nolint:exhaustive // what the others report is wrong in itself
	case problem.UnknownProvider, problem.BrokenReference:
		return dangling
	case problem.MissingField:
		return dangling || m.entriesWithUnknownKeys[entry]
	case problem.ConflictingFields:
		return m.nameless[entry]
	}
	return false
}

// referredBy maps a list to the lists that its entries refer to.
var referredBy = map[string][]string{
	"spec.resources.models": {"spec.providers.inference", "spec.externalProviders.inference"},
	"spec.resources.shields": {
		"spec.providers.safety", "spec.externalProviders.safety", "spec.providers.inference",
		"spec.externalProviders.inference", "spec.resources.models",
	},
	"spec.resources.defaults": {
		"spec.providers.safety", "spec.externalProviders.safety", "spec.providers.inference",
		"spec.externalProviders.inference", "spec.resources.models", "spec.resources.shields",
	},
	"spec.resources.tools": {"spec.providers.toolRuntime", "spec.externalProviders.toolRuntime"},
	"spec.resources.vectorStores": {
		"spec.providers.vectorIo", "spec.externalProviders.vectorIo", "spec.providers.inference",
		"spec.externalProviders.inference", "spec.resources.models",
	},
}

// within reports whether a path is below an unreadable field.
func (m *parseFailures) within(path string) bool {
	for i := range path {
		if (path[i] == '.' || path[i] == '[') && m.fields[path[:i]] {
			return true
		}
	}
	return false
}

// splitEntry splits the path of an entry's field: spec.providers.inference[0].settings.url has the entry
// spec.providers.inference[0] and the key settings.
func splitEntry(path string) (entry, key string) {
	const levels = 3 // spec, section, list or entry
	parts := strings.SplitN(path, ".", levels+1)
	if len(parts) <= levels {
		return path, ""
	}
	rest := parts[levels]
	key, _, _ = strings.Cut(rest, ".")
	key, _, _ = strings.Cut(key, "[")
	return strings.TrimSuffix(path, "."+rest), key
}
