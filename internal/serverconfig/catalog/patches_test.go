// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func hasType(api, providerType string) func(*Line) bool {
	return func(l *Line) bool { _, ok := l.Provider(api, providerType); return ok }
}

func hasField(api, providerType, name string) func(*Line) bool {
	return func(l *Line) bool {
		row, ok := l.Provider(api, providerType)
		if ok {
			_, ok = row.Fields[name]
		}
		return ok
	}
}

// Proves: R16, R92.
func TestOlderPatchReleasesHaveFewerFields(t *testing.T) {
	workers := func(l *Line) bool { _, ok := l.ServerFields()["workers"]; return ok }
	for _, c := range []struct {
		name, before, without, with string
		has                         func(*Line) bool
	}{
		{"remote::passthrough", "1.3.1", "1.3.0", "1.3.1", hasType("inference", "remote::passthrough")},
		{"server.workers", "0.3.1", "0.3.0", "0.3.5", workers},
		{"default storage", "0.5.1", "0.5.0", "0.5.4", func(l *Line) bool { return l.DefaultStorage }},
		{"registered vector stores", "0.4.3", "v0.4.2-cuda", "0.4.3", func(l *Line) bool { return l.RegistersVectorStores }},
		{"a field of vertexai", "1.2.5", "1.2.0", "1.2.9", hasField("inference", "remote::vertexai", "thought_signature_store")},
		{"a field of pgvector", "1.0.3", "1.0.1", "1.0", hasField("vector_io", "remote::pgvector", "pool_min_size")},
		{"connection_string", "1.4.1", "1.4.0", "1.4.1", func(l *Line) bool { _, ok := l.Backends["sql_postgres"].Fields["connection_string"]; return ok }},
	} {
		older, standing := ForVersion(c.without)
		newer, _ := ForVersion(c.with)
		if standing != KnownLine || c.has(older) || !c.has(newer) || !older.Older() || newer.Older() {
			t.Errorf("%s: %s has it: %v; %s has it: %v", c.name, c.without, c.has(older), c.with, c.has(newer))
		}
		if got := older.Since(c.has); got != c.before {
			t.Errorf("%s came with %q, want %q", c.name, got, c.before)
		}
		if got := get(t, older.Name).From(c.has); got != c.before {
			t.Errorf("%s is there from %q on, want %q", c.name, got, c.before)
		}
		if got, want := older.Without(c.has), "release line "+older.Name+" before "+c.before; got != want {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
		if again, _ := ForVersion(c.without); again != older {
			t.Errorf("%s: a second look makes another release line", c.without)
		}
	}
}

// Proves: R16.
func TestPatchesOfEachLineCanBeApplied(t *testing.T) {
	never := func(*Line) bool { return false }
	for _, name := range Lines() {
		line := get(t, name)
		if got, _ := ForVersion(name); got != line || line.At("") != line || line.At(line.Release) != line || line.From(never) != "" || line.Since(never) != "" ||
			line.Without(never) != "release line "+name {
			t.Errorf("line %s is not as its newest patch release knows it", name)
		}
		before := line.Release
		for _, p := range line.Patches {
			if Compare(p.Before, before) > 0 {
				t.Errorf("line %s: a difference before %s stands after one before %s", name, p.Before, before)
			}
			before = p.Before
		}
		for i, o := range line.older {
			older := o.line()
			if older.Release == "" || Compare(older.Release, o.before) >= 0 || older.Name != name || line.At(older.Release) != older {
				t.Errorf("line %s before %s: release %q of line %s", name, o.before, older.Release, older.Name)
			}
			if newer, later := older.Predates(older.Release); newer || later {
				t.Errorf("line %s before %s does not know its own release", name, o.before)
			}
			if i > 0 && older.next != line.older[i-1].line() {
				t.Errorf("line %s before %s is not followed by the one before %s", name, o.before, line.older[i-1].before)
			}
		}
	}
}

func TestParseRefusesPatchesThatCannotBeApplied(t *testing.T) {
	const head = "line: x\npackage: p\nportEnv: P\nproviders:\n  inference:\n  - {type: a, key: k, fields: {k: {type: string}}}\n"
	line, err := Parse([]byte(head + "patches:\n- {before: 0.9.1, changes: {providers: {inference: {a: {fields: {k: null}}}}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if said := recover(); said == nil || !strings.Contains(said.(string), "no such field: k") {
			t.Errorf("recovered %v", said)
		}
	}()
	line.At("0.9.0")
}

func TestMerge(t *testing.T) {
	rows := func(types ...string) []any {
		var list []any
		for _, name := range types {
			list = append(list, map[string]any{"type": name})
		}
		return list
	}
	tree := map[string]any{"a": 1, "b": map[string]any{"c": 1, "d": 2}, "rows": rows("x", "z"), "list": []any{1}}
	merge(tree, map[string]any{
		"a": nil, "b": map[string]any{"c": nil, "e": "new"}, "list": []any{2}, "new": map[string]any{"f": 1},
		"rows": map[string]any{"x": nil, "y": map[string]any{"type": "y"}, "z": map[string]any{"key": "k"}},
	})
	z := map[string]any{"type": "z", "key": "k"}
	want := map[string]any{
		"b": map[string]any{"d": 2, "e": "new"}, "list": []any{2}, "new": map[string]any{"f": 1}, "rows": slices.Concat(rows("y"), []any{z}),
	}
	if !reflect.DeepEqual(tree, want) {
		t.Errorf("%v, want %v", tree, want)
	}
}
