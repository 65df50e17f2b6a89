// SPDX-License-Identifier: Apache-2.0

package config

import (
	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
)

// Lines returns the release lines whose dialect the base is written in, oldest first: those that know every section, API,
// provider type, config field and store that it names. A provider that the image brings along says nothing.
//
// Several lines are the rule, because a release usually reads what the one before it wrote. Which of them the server is cannot
// be told then, and the wrong one would write fields that the server silently ignores: a caller that needs the line must not
// choose.
func (b *Base) Lines() []string {
	var fitting []string
	for _, name := range catalog.Lines() {
		if line, _ := catalog.Get(name); speaks(line, b.root) {
			fitting = append(fitting, name)
		}
	}
	return fitting
}

// checkedSections are the sections whose keys tell lines apart. Not registered_resources, where releases ship keys that they ignore
// themselves, nor the form of stores, where releases still read the old one.
var checkedSections = []string{"server", "vector_stores", "safety"}

// speaks tells whether a release line knows all that a config says.
func speaks(line *catalog.Line, root *yaml.Node) bool {
	if !knowsKeys(line.Sections, root) {
		return false
	}
	for _, api := range items(child(root, "apis")) {
		if _, known := line.APIs[text(api)]; !known {
			return false
		}
	}
	for _, section := range checkedSections {
		if fields := line.Objects[line.Sections[section].Object]; fields != nil && !knowsKeys(fields, child(root, section)) {
			return false
		}
	}
	return knowsProviders(line, child(root, "providers")) && knowsStorage(line, child(root, "storage"))
}

func knowsProviders(line *catalog.Line, providers *yaml.Node) bool {
	for _, api := range keys(providers) {
		if _, known := line.APIs[api]; !known {
			return false
		}
		for _, entry := range items(child(providers, api)) {
			if child(entry, "module") != nil {
				continue // the image brings it along
			}
			row, known := line.Provider(api, text(child(entry, "provider_type")))
			if !known || !knowsKeys(row.Fields, child(entry, "config")) {
				return false
			}
		}
	}
	return true
}

func knowsStorage(line *catalog.Line, storage *yaml.Node) bool {
	backends, stores := child(storage, "backends"), child(storage, "stores")
	for _, name := range keys(backends) {
		entry := child(backends, name)
		backend, known := line.Backends[text(child(entry, "type"))]
		if !known {
			return false
		}
		for _, field := range keys(entry) {
			if _, known := backend.Fields[field]; !known && field != "type" {
				return false
			}
		}
	}
	for _, name := range keys(stores) {
		if _, known := line.Stores[name]; !known {
			return false
		}
	}
	return true
}

// knowsKeys tells whether every key of a map is among the fields.
func knowsKeys(fields map[string]catalog.Field, n *yaml.Node) bool {
	for _, key := range keys(n) {
		if _, known := fields[key]; !known {
			return false
		}
	}
	return true
}
