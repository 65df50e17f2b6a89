// SPDX-License-Identifier: Apache-2.0

package release

import (
	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// Lines returns the release lines whose config schema the base is written in, oldest first: those that know every
// section, API, provider type, config field and store that it names. A provider that the image brings along says
// nothing.
//
// Several release lines are the rule, because a release usually reads what the one before it wrote. Which of them the
// server is cannot be known then, and the wrong one would write fields that the server silently ignores: a caller that
// needs it must not choose.
func Lines(b *document.Base) []string {
	var fitting []string
	for _, name := range catalog.Lines() {
		if line, _ := catalog.Get(name); understands(line, b.Root()) {
			fitting = append(fitting, name)
		}
	}
	return fitting
}

// checkedSections are the sections whose keys distinguish release lines. Not registered_resources, where releases ship
// keys that they ignore themselves, nor the form of stores, where releases still read the old one.
var checkedSections = []string{"server", "vector_stores", "safety"}

// understands reports whether a release line knows all that a config says.
func understands(line *catalog.Line, root *yaml.Node) bool {
	if !knowsKeys(line.Sections, root) {
		return false
	}
	for _, api := range document.Items(document.Child(root, "apis")) {
		if _, known := line.APIs[document.Text(api)]; !known {
			return false
		}
	}
	for _, section := range checkedSections {
		if fields := line.Objects[line.Sections[section].Object]; fields != nil &&
			!knowsKeys(fields, document.Child(root, section)) {
			return false
		}
	}
	return knowsProviders(line, document.Child(root, "providers")) && knowsStorage(line, document.Child(root, "storage"))
}

func knowsProviders(line *catalog.Line, providers *yaml.Node) bool {
	for _, api := range document.Keys(providers) {
		if _, known := line.APIs[api]; !known {
			return false
		}
		for _, entry := range document.Items(document.Child(providers, api)) {
			if document.Child(entry, "module") != nil {
				continue // the image brings it along
			}
			row, known := line.Provider(api, document.Text(document.Child(entry, "provider_type")))
			if !known || !knowsKeys(row.Fields, document.Child(entry, "config")) {
				return false
			}
		}
	}
	return true
}

func knowsStorage(line *catalog.Line, storage *yaml.Node) bool {
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

// knowsKeys reports whether every key of a map is among the fields.
func knowsKeys(fields map[string]catalog.Field, n *yaml.Node) bool {
	for _, key := range document.Keys(n) {
		if _, known := fields[key]; !known {
			return false
		}
	}
	return true
}
