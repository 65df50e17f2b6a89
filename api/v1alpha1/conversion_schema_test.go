// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// schemas holds the defaults of both versions: the generated schema of v1alpha2 and the field list of v1alpha1. Fields
// that both versions share have the same schema.
type schemas struct {
	hub   map[string]any
	spoke map[string]any // default by path
}

func readSchemas(t testing.TB) schemas {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "config", "crd", "bases", "llamastack.io_llamastackdistributions.yaml"))
	if err != nil {
		t.Fatalf("read the definition: %v", err)
	}
	versions, _ := lookup(parseYAML(t, string(content)), []string{"spec", "versions"})
	result := schemas{spoke: map[string]any{}}
	for _, version := range versions.([]any) {
		if name, _ := lookup(version, []string{"name"}); name == "v1alpha2" {
			schema, _ := lookup(version, []string{"schema", "openAPIV3Schema"})
			result.hub = schema.(map[string]any)
		}
	}
	if result.hub == nil {
		t.Fatal("the definition has no version v1alpha2")
	}

	fields, err := os.ReadFile(filepath.Join("testdata", "fields.txt"))
	if err != nil {
		t.Fatalf("read the field list: %v", err)
	}
	for line := range strings.Lines(string(fields)) {
		words := strings.Fields(line)
		for _, word := range words {
			if value, ok := strings.CutPrefix(word, "default="); ok {
				result.spoke[words[0]] = parseYAML(t, value)
			}
		}
	}
	return result
}

func (s schemas) defaultHub(object map[string]any) { fillIn(object, s.hub) }

func (s schemas) defaultSpoke(object map[string]any) {
	for path, value := range s.spoke {
		names := strings.Split(path, ".")
		parent, _ := lookup(object, names[:len(names)-1])
		if section, ok := parent.(map[string]any); ok {
			if _, found := section[names[len(names)-1]]; !found {
				section[names[len(names)-1]] = value
			}
		}
	}
	for _, mapping := range fieldMappings {
		if mapping.spoke == "" || mapping.hub == "" {
			continue
		}
		if value, found := lookup(object, strings.Split(mapping.spoke, ".")); found {
			schema := s.hub
			for name := range strings.SplitSeq(mapping.hub, ".") {
				property, _ := lookup(schema, []string{"properties", name})
				schema, _ = property.(map[string]any)
			}
			fillIn(value, schema)
		}
	}
}

// fillIn sets structural defaults: it sets missing fields that have a default, and adds no parent objects.
func fillIn(value any, schema map[string]any) {
	switch value := value.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		for name, property := range properties {
			property, _ := property.(map[string]any)
			if dflt, has := property["default"]; has {
				if _, found := value[name]; !found {
					value[name] = clone(dflt)
				}
			}
			fillIn(value[name], property)
		}
		if additional, ok := schema["additionalProperties"].(map[string]any); ok {
			for _, member := range value {
				fillIn(member, additional)
			}
		}
	case []any:
		items, _ := schema["items"].(map[string]any)
		for _, item := range value {
			fillIn(item, items)
		}
	}
}

func parseYAML(t testing.TB, text string) any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("not YAML: %v", err)
	}
	return parseJSON(t, raw)
}

func parseJSON(t testing.TB, raw []byte) any {
	t.Helper()
	var tree any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(bytes.TrimSpace(raw), &tree); err != nil {
		t.Fatalf("not JSON: %v", err)
	}
	return tree
}

func object(t testing.TB, text string) map[string]any {
	t.Helper()
	result, ok := parseYAML(t, text).(map[string]any)
	if !ok {
		t.Fatalf("not an object: %s", text)
	}
	return result
}

// Proves: R30 (conversion has exactly the defaults of the two schemas).
func TestDefaultsAreThoseOfTheSchemas(t *testing.T) {
	t.Parallel()

	s := readSchemas(t)
	for _, u := range spoke.units {
		if !equal(u.defaultValue, s.spoke[u.name]) {
			t.Errorf("%s: conversion takes %v as its default, the schema %v", u.name, u.defaultValue, s.spoke[u.name])
		}
	}
	units := 0
	for _, u := range hub.units {
		schema := s.hub
		for _, name := range u.path {
			property, _ := lookup(schema, []string{"properties", name})
			schema, _ = property.(map[string]any)
		}
		if schema == nil {
			t.Errorf("%s: the schema has no such field", u.name)
		}
		if !equal(u.defaultValue, schema["default"]) {
			t.Errorf("%s: conversion takes %v as its default, the schema %v", u.name, u.defaultValue, schema["default"])
		}
		if u.defaultValue != nil {
			units++
		}
	}
	if units != 2 {
		t.Errorf("%d fields of v1alpha2 have defaults that conversion knows, want replicas and port", units)
	}
}
