// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/configs"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
)

// triedValues are written into fields of every type.
var triedValues = []any{
	nil, "", "x", "5", " 5 ", "5.0", "5.5", "-5", "+5", "1e3", "1_000", "1__0", "0x10", "inf", "nan", "٥", true, false, 0, 1, 2, -3, 5.5,
	"yes", "True", "T", "oN", "2", "http://x", " http://x ", "HTTP://X", "x://y", "http://", "http://a b", "//x",
	[]any{}, []any{"a"}, map[string]any{}, map[string]any{"a": 1},
}

// narrower are fields of which the server takes only some values of their type: numbers with limits, files that must be there.
// The catalog does not tell which.
var narrower = []string{
	"command_timeout", "graph_expansion_depth", "graph_expansion_weight", "graph_max_neighbors", "pool_max_size", "pool_min_size",
	"statement_cache_size", "tls_verify",
}

// The engine refuses a value of settings exactly where the server does, for fields of each kind that there is.
//
// Proves: FR-033, R8, NFR-003.
func TestValuesAsTheServerTakesThem(t *testing.T) {
	t.Parallel()
	forEachRelease(t, func(t *testing.T, r release) {
		if !slices.Contains([]string{"0.3", "0.7", "1.5"}, r.line) || !r.newest {
			return
		}
		line := lineOf(t, r)
		fields := fieldsOfEachKind(line)
		refused := valuesRefusedByTheServer(t, r, fields)
		base := matrixBase(t, line, "", "", "starter")
		tried := 0
		for i, f := range fields {
			for j, value := range triedValues {
				tried++
				byServer, byEngine := refused[tryID(i, j)], refusedByTheEngine(t, line, base, &f, value)
				if byServer && !byEngine && f.isNarrower(value) || byEngine && !byServer && f.mustSaySomething(value) {
					continue
				}
				if byServer != byEngine {
					t.Errorf("%s of %s (%+v) = %#v: refused by the server: %t, by the engine: %t", f.name, f.row.Type, f.row.Fields[f.name], value, byServer, byEngine)
				}
			}
		}
		t.Logf("%d values in %d fields tried on release %s", tried, len(fields), r.version)
	})
}

// triedField is a config field of a provider type.
type triedField struct {
	api  v1alpha2.ProviderAPI
	row  *catalog.Provider
	name string
}

// mustSaySomething tells where the engine is stricter than the server.
func (f *triedField) mustSaySomething(value any) bool {
	return f.row.Fields[f.name].Required && value == ""
}

// isNarrower tells where the engine knows less than the server.
func (f *triedField) isNarrower(value any) bool {
	field := f.row.Fields[f.name]
	_, isMap := value.(map[string]any)
	return slices.Contains(narrower, f.name) ||
		(value == nil && field.Default == nil) || // the default is no scalar, and so the catalog has none
		(isMap && strings.Contains(field.Object, "|")) // one of several classes, which a field of the map tells
}

func tryID(field, value int) string { return fmt.Sprintf("try-%d-%d", field, value) }

// fieldsOfEachKind chooses one field of each kind: type, values, and how it goes with null.
func fieldsOfEachKind(line *catalog.Line) []triedField {
	var fields []triedField
	seen := map[string]bool{}
	for _, api := range matrixAPIs {
		rows := line.Rows[api.Name]
		for i := range rows {
			for _, name := range rows[i].FieldNames() {
				f := rows[i].Fields[name]
				kind := fmt.Sprint(f.Type, f.Secret, f.Values, f.Object, f.Store, f.Required, f.Nullable, f.Default != nil)
				if f.Type == catalog.TypeInt || f.Type == catalog.TypeFloat {
					kind += name // numbers have limits
				}
				if !seen[kind] {
					seen[kind] = true
					fields = append(fields, triedField{api, &rows[i], name})
				}
			}
		}
	}
	return fields
}

// valuesRefusedByTheServer lets the server load one config in which every value of every field is a provider of its own.
func valuesRefusedByTheServer(t *testing.T, r release, fields []triedField) map[string]bool {
	t.Helper()
	data, _ := configs.Base("starter", r.line)
	var tree map[string]any
	if err := yaml.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	providers := tree["providers"].(map[string]any)
	for i, f := range fields {
		for j, value := range triedValues {
			entries, _ := providers[f.api.Name].([]any)
			providers[f.api.Name] = append(entries, map[string]any{
				"provider_id": tryID(i, j), "provider_type": f.row.Type, "config": map[string]any{f.name: value},
			})
		}
	}
	content, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	refused := map[string]bool{}
	for _, f := range judge(t, r, file)[0].Findings {
		_, rest, ok := strings.Cut(f.Path, "[try-")
		id, field, _ := strings.Cut(rest, "].config.")
		var at, value int
		if n, _ := fmt.Sscanf(id, "%d-%d", &at, &value); f.Kind == "failure" && ok && n == 2 && field == fields[at].name {
			refused[tryID(at, value)] = true
		}
	}
	return refused
}

func refusedByTheEngine(t *testing.T, line *catalog.Line, base *config.Base, f *triedField, value any) bool {
	t.Helper()
	settings := maps.Clone(f.row.Example)
	if settings == nil {
		settings = map[string]any{}
	}
	settings[f.name] = value
	_, findings := config.Generate(config.Input{
		Name: "values", Namespace: "values", Line: line, Base: base,
		Spec: specWith(t, f.api, map[string]any{"id": matrixID, "provider": f.row.Type, "settings": settings}),
	})
	return slices.ContainsFunc(findings.Errors(), func(found config.Finding) bool {
		return found.Path == "spec.providers."+f.api.Field+".settings."+f.name
	})
}
