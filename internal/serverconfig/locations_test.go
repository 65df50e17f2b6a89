// SPDX-License-Identifier: Apache-2.0

package serverconfig_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// trickyIDs are ids that collide with each other or with the base's if names are derived carelessly.
var trickyIDs = []string{"a.b", "a-b", "a_b", "A_B", "a", "sqlite_vec", "chroma_remote", "kvstore", "registry", strings.Repeat("x", 63)}

// manyOf configures a provider type under each tricky id and under its own id.
func manyOf(t *testing.T, row *catalog.Provider) *v1alpha2.ProvidersSpec {
	t.Helper()
	var entries []map[string]any
	ids := slices.Concat(trickyIDs, []string{row.Type[strings.LastIndex(row.Type, ":")+1:]})
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		settings := maps.Clone(row.Example)
		if settings == nil {
			settings = map[string]any{}
		}
		entry := map[string]any{"id": id, "provider": row.Type, "settings": settings}
		if row.Endpoint != nil {
			entry["endpoint"] = map[bool]string{true: "http://x:1", false: "x:1"}[row.Endpoint.Kind == catalog.EndpointURL]
			if len(row.Endpoint.Schemes) > 0 {
				entry["endpoint"] = row.Endpoint.Schemes[0] + "://x:1"
			}
		}
		if row.Key != "" {
			settings[row.Key] = "${env.KEY:=x}" // one Secret, because the variables of some ids would collide
		}
		entries = append(entries, entry)
	}
	raw, err := json.Marshal(entries)
	framework.NoError(t, err)
	return &v1alpha2.ProvidersSpec{VectorIo: &apiextensionsv1.JSON{Raw: raw}}
}

// places maps the storage locations in a configuration to the providers that use them.
func places(tree map[string]any, line *catalog.Line) map[string][]string {
	found := map[string][]string{}
	var walk func(v any, owner string)
	walk = func(v any, owner string) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range []string{"namespace", "table_name"} {
				if place, ok := v[key]; ok && v["backend"] != nil {
					at := fmt.Sprintf("%v %s %v", v["backend"], key, place)
					found[at] = append(found[at], owner)
				}
			}
			for _, inner := range v {
				walk(inner, owner)
			}
		case []any:
			for _, inner := range v {
				walk(inner, owner)
			}
		}
	}
	for api, list := range tree["providers"].(map[string]any) {
		for _, item := range list.([]any) {
			entry := item.(map[string]any)
			owner := fmt.Sprint(api, "/", entry["provider_id"])
			walk(entry["config"], owner)
			fields, _ := entry["config"].(map[string]any)
			if row, ok := line.Provider(api, fmt.Sprint(entry["provider_type"])); ok && fields[row.DataPath] != nil {
				at := fmt.Sprint("file ", fields[row.DataPath])
				found[at] = append(found[at], owner)
			}
		}
	}
	return found
}

// Providers share no namespace, table or file, with and without an entry of their type in the base. A provider that
// overrides an entry of the base keeps its locations, because they hold its data.
//
// Proves: R9.
func TestProvidersShareNoStorageLocation(t *testing.T) {
	validated := 0
	for _, name := range catalog.Lines() {
		line, _ := catalog.Get(name)
		data, _ := distributions.Base("starter", name)
		for i := range line.Rows["vector_io"] {
			row := &line.Rows["vector_io"][i]
			for _, base := range []*document.Base{parseBase(t, "starter", data), nested(t, data, row)} {
				result, findings := serverconfig.Generate(t.Context(), serverconfig.Input{
					Name: "n", Namespace: "ns", Base: base, Line: line, Spec: parse.Parse(&v1alpha2.LlamaStackDistributionSpec{Providers: manyOf(t, row)}),
				})
				if result == nil {
					t.Fatalf("line %s, %s: %s", name, row.Type, findings)
				}
				for place, owners := range places(decodeYAML(t, result.YAML).(map[string]any), line) {
					validated++
					if len(owners) > 1 {
						t.Errorf("line %s, %s: %v share %s", name, row.Type, owners, place)
					}
				}
			}
			checkKept(t, line, data, row)
		}
	}
	t.Logf("%d places", validated)
}

// nested returns a base with one entry of a type, with state at several locations and depths.
func nested(t *testing.T, starter []byte, row *catalog.Provider) *document.Base {
	t.Helper()
	tree := decodeYAML(t, starter).(map[string]any)
	values := map[string]any{
		"persistence":    map[string]any{"backend": "kv_default", "namespace": "template"},
		"metadata_store": map[string]any{"backend": "sql_default", "table_name": "template"},
		"more":           []any{map[string]any{"backend": "kv_default", "namespace": "deep", "table_name": "deep"}},
		"db_path":        "/data/template.db", "path": "/data/template",
	}
	for name, of := range row.Fields {
		if _, set := values[name]; !set && of.Required {
			values[name] = "any"
		}
	}
	tree["providers"].(map[string]any)["vector_io"] = []any{map[string]any{"provider_id": "template", "provider_type": row.Type, "config": values}}
	for _, section := range []string{"vector_stores", "safety", "registered_resources"} {
		delete(tree, section)
	}
	encoded, err := json.Marshal(tree)
	framework.NoError(t, err)
	return parseBase(t, "nested", encoded)
}

// checkKept generates with the base's own entry of the type, and compares its locations with the base's.
func checkKept(t *testing.T, line *catalog.Line, data []byte, row *catalog.Provider) {
	t.Helper()
	base := decodeYAML(t, data).(map[string]any)
	result, _ := serverconfig.Generate(t.Context(), serverconfig.Input{
		Name: "n", Namespace: "ns", Base: parseBase(t, "starter", data), Line: line,
		Spec: parse.Parse(&v1alpha2.LlamaStackDistributionSpec{Providers: manyOf(t, row)}),
	})
	generated := places(decodeYAML(t, result.YAML).(map[string]any), line)
	id := row.Type[strings.LastIndex(row.Type, ":")+1:]
	for _, item := range base["providers"].(map[string]any)["vector_io"].([]any) {
		entry := item.(map[string]any)
		written := fmt.Sprint(entry["provider_id"])
		if entry["provider_type"] != row.Type || (written != id && !strings.HasSuffix(written, ":+"+id+"}")) {
			continue
		}
		single := map[string]any{"providers": map[string]any{"vector_io": []any{entry}}}
		for place := range places(single, line) {
			if owners := generated[place]; len(owners) != 1 || owners[0] != "vector_io/"+id {
				t.Errorf("line %s: %s of %s is now that of %v", line.Name, place, id, owners)
			}
		}
	}
}
