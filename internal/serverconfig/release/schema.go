// SPDX-License-Identifier: Apache-2.0

package release

import (
	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// Lines returns the release lines that support all of the base's sections, APIs, provider types, fields and stores,
// oldest first. Several release lines usually do, so callers must not infer the server's release line from it.
func Lines(b *document.Base) []string { return LinesOf(b.Root()) }

// LinesOf does the same as Lines for the tree of a configuration.
func LinesOf(root *yaml.Node) []string {
	var supporting []string
	for _, name := range catalog.Lines() {
		if line, _ := catalog.Get(name); supports(line, root) {
			supporting = append(supporting, name)
		}
	}
	return supporting
}

// checkedSections are the sections whose keys distinguish release lines. Releases ship ignored keys in
// registered_resources, and still read the old form of stores.
var checkedSections = []string{"server", "vector_stores", "safety"}

// supports reports whether a release line supports a whole configuration.
func supports(line *catalog.Line, root *yaml.Node) bool {
	if !supportsKeys(line.Sections, root) {
		return false
	}
	for _, api := range document.Items(document.Child(root, "apis")) {
		if _, known := line.APIs[document.Text(api)]; !known {
			return false
		}
	}
	for _, section := range checkedSections {
		if fields := line.Objects[line.Sections[section].Object]; fields != nil &&
			!supportsKeys(fields, document.Child(root, section)) {
			return false
		}
	}
	return supportsProviders(line, document.Child(root, "providers")) &&
		supportsStorage(line, document.Child(root, "storage"))
}

func supportsProviders(line *catalog.Line, providers *yaml.Node) bool {
	for _, api := range document.Keys(providers) {
		if _, known := line.APIs[api]; !known {
			return false
		}
		for _, entry := range document.Items(document.Child(providers, api)) {
			if document.Child(entry, "module") != nil {
				continue // from the image
			}
			row, known := line.Provider(api, document.Text(document.Child(entry, "provider_type")))
			if !known || !supportsKeys(row.Fields, document.Child(entry, "config")) {
				return false
			}
		}
	}
	return true
}

func supportsStorage(line *catalog.Line, storage *yaml.Node) bool {
	backends, stores := document.Child(storage, "backends"), document.Child(storage, "stores")
	for _, name := range document.Keys(backends) {
		entry := document.Child(backends, name)
		backend, known := line.Backends[document.Text(document.Child(entry, "type"))]
		if !known {
			return false
		}
		for _, field := range document.Keys(entry) {
			if _, known := backend.Fields[field]; !known && field != "type" {
				return false
			}
		}
	}
	for _, name := range document.Keys(stores) {
		if _, known := line.Stores[name]; !known {
			return false
		}
	}
	return true
}

// supportsKeys reports whether all keys of a map are fields.
func supportsKeys(fields map[string]catalog.Field, n *yaml.Node) bool {
	for _, key := range document.Keys(n) {
		if _, known := fields[key]; !known {
			return false
		}
	}
	return true
}
