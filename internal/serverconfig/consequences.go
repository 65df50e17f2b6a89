// SPDX-License-Identifier: Apache-2.0

package serverconfig

import (
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// misreading is what could not be read of the spec. Problems that may only follow from it are left out: nobody can act
// on them before it is fixed.
type misreading struct {
	// fields are the fields that could not be read.
	fields map[string]bool
	// unknownKeysOf are the entries that have a key which nobody knows: it may be meant as one that is missing.
	unknownKeysOf map[string]bool
	// nameless are the entries whose name is not known, and the lists that have such entries; typeless are the entries
	// whose provider type is not known.
	nameless, typeless map[string]bool
}

func newMisreading(problems problem.List) *misreading {
	m := &misreading{
		fields: map[string]bool{}, unknownKeysOf: map[string]bool{}, nameless: map[string]bool{}, typeless: map[string]bool{},
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
			m.typeless[entry] = list == "spec.resources.tools" // its name says what it is
		case "endpointFrom":
			m.fields[entry+".endpoint"] = true // which is absent because of it
		case "modelType", "embeddingDimension", "metadata":
			m.nameless[list] = true // what a vector store needs of it is not known
		}
		if problems[i].Reason == problem.UnknownField {
			m.unknownKeysOf[entry] = true
			m.nameless[list] = m.nameless[list] || list == "spec.resources.models" // as above
		}
	}
	return m
}

// causes reports whether a problem may be a consequence.
func (m *misreading) causes(p problem.Problem) bool {
	entry, _ := splitEntry(p.Path)
	switch {
	case !strings.HasPrefix(p.Path, "spec"):
		return true // the configuration is not whole
	case m.fields[p.Path], m.within(p.Path):
		return true
	case m.typeless[entry]:
		return true // what an entry may have depends on its type
	}
	list, _, _ := strings.Cut(entry, "[")
	dangling := slices.ContainsFunc(referredBy[list], func(to string) bool { return m.nameless[to] })
	switch p.Reason { //nolint:exhaustive // what the others report is wrong in itself
	case problem.UnknownProvider, problem.BrokenReference:
		return dangling
	case problem.MissingField:
		return dangling || m.unknownKeysOf[entry]
	case problem.ConflictingFields:
		return m.nameless[entry]
	}
	return false
}

// referredBy are the lists in which the entries of a list name entries.
var referredBy = map[string][]string{
	"spec.resources.models": {"spec.providers.inference", "spec.externalProviders.inference"},
	"spec.resources.shields": {
		"spec.providers.safety", "spec.externalProviders.safety", "spec.providers.inference",
		"spec.externalProviders.inference", "spec.resources.models",
	},
	"spec.resources.tools": {"spec.providers.toolRuntime", "spec.externalProviders.toolRuntime"},
	"spec.resources.vectorStores": {
		"spec.providers.vectorIo", "spec.externalProviders.vectorIo", "spec.providers.inference",
		"spec.externalProviders.inference", "spec.resources.models",
	},
}

// within reports whether a path is a part of a field that could not be read.
func (m *misreading) within(path string) bool {
	for i := range path {
		if (path[i] == '.' || path[i] == '[') && m.fields[path[:i]] {
			return true
		}
	}
	return false
}

// splitEntry splits the path of a field of an entry: spec.providers.inference[0].settings.url is settings of
// spec.providers.inference[0].
func splitEntry(path string) (entry, key string) {
	const levels = 3 // spec, its section, and the list or the single entry in it
	parts := strings.SplitN(path, ".", levels+1)
	if len(parts) <= levels {
		return path, ""
	}
	rest := parts[levels]
	key, _, _ = strings.Cut(rest, ".")
	key, _, _ = strings.Cut(key, "[")
	return strings.TrimSuffix(path, "."+rest), key
}
