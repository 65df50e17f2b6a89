// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// introspectionOf returns the introspection of a release whose provider type remote::a has the given fields.
func introspectionOf(release string, workers bool, fields ...string) *introspection {
	introspected := &introspection{
		Package: "ogx", Release: release, Env: environment{Port: "OGX_PORT"}, HostForWorkers: !workers,
		Sections:  map[string]field{"providers": {Type: catalog.TypeMap}, "storage": {Type: catalog.TypeMap}},
		Providers: map[string]map[string]provider{"inference": {}, "files": {"inline::f": {}}},
	}
	if fields != nil {
		a := provider{Fields: map[string]field{}}
		for _, name := range fields {
			a.Fields[name] = field{Type: catalog.TypeString}
		}
		introspected.Providers["inference"]["remote::a"] = a
	}
	return introspected
}

// A release line's file has the differences of older patch releases, and applying them reproduces each release.
//
// Proves: R16.
func TestPatchesRecordDifferences(t *testing.T) {
	introspections := map[string]*introspection{
		"1.6":   introspectionOf("1.6.4", true, "api_key", "base_url", "new"),
		"1.6.3": introspectionOf("1.6.3", true, "api_key", "base_url", "new"),
		"1.6.2": introspectionOf("1.6.2", true, "api_key", "base_url"),
		"1.6.1": introspectionOf("1.6.1", true, "api_key", "base_url"),
		"1.6.0": introspectionOf("1.6.0", false),
	}
	line, err := assembleLine("testdata/nothing.yaml", "1.6", introspections, map[string][]string{"1.6": {"1.6.3", "1.6.2", "1.6.1", "1.6.0"}}, overlayOf(t, someOverlay))
	framework.NoError(t, err)
	row := map[string]any{"fields": map[string]any{"new": nil}}
	want := []catalog.Patch{
		{Before: "1.6.3", Changes: map[string]any{"release": "1.6.2", "providers": map[string]any{"inference": map[string]any{"remote::a": row}}}},
		{Before: "1.6.1", Changes: map[string]any{"release": "1.6.0", "hostForWorkers": true, "providers": map[string]any{"inference": nil}}},
	}
	if diff := cmp.Diff(want, line.Patches); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var out bytes.Buffer
	printPatches(&out, []*catalog.Line{line})
	for _, text := range []string{
		"release line 1.6 before 1.6.3:\n  providers.inference.remote::a.fields.new is missing\n", "before 1.6.1:\n  hostForWorkers is true\n  providers.inference is missing\n",
	} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("printed is\n%swant\n%s", out.String(), text)
		}
	}
	if err := checkPatches(line, []*catalog.Line{{Name: "1.6", Release: "1.6.2"}}); err == nil || !strings.Contains(err.Error(), "do not reproduce release 1.6.2") {
		t.Errorf("patches of another release: %v", err)
	}
}

// Rows with "type" are matched by type, not by position.
func TestMergePatchMatchesRowsByType(t *testing.T) {
	of := func(types ...string) map[string]any {
		var rows []any
		for _, name := range types {
			rows = append(rows, map[string]any{"type": name, "n": len(types)})
		}
		return map[string]any{"rows": rows, "names": []any{"a"}}
	}
	want := map[string]any{"rows": map[string]any{
		"a": nil, "b": map[string]any{"n": 1},
	}}
	if diff := cmp.Diff(want, mergePatch(of("a", "b"), of("b"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := mergePatch(of("a"), of("a")); len(got) > 0 {
		t.Errorf("nothing differs, got %v", got)
	}
}

// If only the newest release is introspected, the file's patches are kept.
func TestPatchesAreKeptIfOnlyNewestReleaseIsRead(t *testing.T) {
	over := overlayOf(t, someOverlay)
	introspections := map[string]*introspection{"1.6": introspectionOf("1.6.1", true, "api_key", "base_url"), "1.6.0": introspectionOf("1.6.0", false)}
	complete, err := assembleLine("testdata/nothing.yaml", "1.6", introspections, map[string][]string{"1.6": {"1.6.0"}}, over)
	framework.NoError(t, err)
	data, err := encodeLine(complete)
	framework.NoError(t, err)
	file := filepath.Join(t.TempDir(), "1.6.yaml")
	framework.WriteFile(t, file, data)
	delete(introspections, "1.6.0")
	line, err := assembleLine(file, "1.6", introspections, nil, over)
	framework.NoError(t, err)
	if diff := cmp.Diff(complete.Patches, line.Patches); diff != "" || len(line.Patches) == 0 {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
