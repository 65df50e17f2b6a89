// SPDX-License-Identifier: Apache-2.0

package ogx

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/provider"
)

// Proves: FR-031, R11 (the rows name fields of the server).
func TestRowsNameFieldsOfTheServer(t *testing.T) {
	line, _ := catalog.Get(catalog.Newest())
	names := map[string]string{}
	for _, api := range apis {
		names[api.Field] = api.Name
	}
	for _, r := range rows {
		known, ok := line.Provider(names[r.api], r.providerType)
		if !ok || r.node() == nil {
			t.Errorf("release line %s has no %s, or OGXServer no %s", line.Name, r.providerType, r.path())
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(r.node().fields)) {
			field, has := known.Fields[r.server(name)]
			if name == "id" {
				continue
			}
			if !has {
				t.Errorf("%s has no field %s", r.providerType, r.server(name))
			}
			checkMembers(t, line, r.path()+"."+name, r.node().fields[name], field.Object)
		}
	}
}

// checkMembers reports members of a field that the object of the server does not have.
func checkMembers(t *testing.T, line *catalog.Line, path string, n *node, object string) {
	t.Helper()
	if object == "" || strings.HasSuffix(path, "."+vectorIndex) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(n.fields)) {
		server := provider.SnakeCase(name)
		field, has := line.Objects[object][server]
		if !has {
			t.Errorf("%s: %s has no field %s", path, object, server)
		}
		checkMembers(t, line, path+"."+name, n.fields[name], field.Object)
	}
}

// Proves: R98 (every kind of vector index is one of the server's).
func TestVectorIndexesAreThoseOfTheServer(t *testing.T) {
	line, _ := catalog.Get(catalog.Newest())
	pgvector, _ := line.Provider("vector_io", "remote::pgvector")
	fields := line.Objects[pgvector.Fields["vector_index"].Object]
	kinds := schema().find("spec.providers.vectorIo.remote.pgvector[].vectorIndex").fields
	for kind, n := range kinds {
		if !slices.Contains(fields["type"].Values, vectorIndexes[kind].server) {
			t.Errorf("%s is %q, want one of %v", kind, vectorIndexes[kind].server, fields["type"].Values)
		}
		for name := range n.fields {
			if _, has := fields[vectorIndexes[kind].names[name]]; !has {
				t.Errorf("%s.%s is %q, which the server does not have", kind, name, vectorIndexes[kind].names[name])
			}
		}
	}
	if len(kinds) != len(vectorIndexes) {
		t.Errorf("%d kinds, want %d", len(vectorIndexes), len(kinds))
	}
}
