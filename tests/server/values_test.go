// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

var triedValues = []any{
	nil, "", "x", "5", " 5 ", "5.0", "5.5", "-5", "+5", "1e3", "1_000", "1__0", "0x10", "inf", "nan", "٥", true, false, 0, 1, 2, -3, 5.5,
	"yes", "True", "T", "oN", "2", "http://x", " http://x ", "HTTP://X", "x://y", "http://", "http://a b", "//x",
	[]any{}, []any{"a"}, []any{1}, []any{"a", nil}, []any{true}, []any{[]any{}}, []any{map[string]any{}},
	map[string]any{}, map[string]any{"a": "b"}, map[string]any{"a": 1}, map[string]any{"a": nil}, map[string]any{"a": []any{"b"}},
}

// files are fields that name an existing file, which only the server can check.
var files = []string{"tls_verify", "verify", "client_cert", "client_key", "cacert"}

// validatedByCode matches fields that the server's code also checks, for example against another field.
var validatedByCode = regexp.MustCompile(`^(pool_(min|max)_size|vector_index\.(lists|probes)|.*\.rewrite_query_params\.(max_tokens|temperature)|.*_template)$`)

// The test tries fields of each kind on each release line: fields of the config and of its maps, list items, values of
// free maps, and kinds of unions.
//
// Proves: FR-033, R8, NFR-003.
func TestAcceptedValuesMatchServer(t *testing.T) {
	t.Parallel()
	forEachRelease(t, func(t *testing.T, r release) {
		if !r.newest {
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
				if byServer && !byEngine && f.isNarrower(line, value) || byEngine && !byServer && f.mustSaySomething(value) {
					continue
				}
				if byServer != byEngine {
					t.Errorf("%s of %s (%+v) = %#v: refused by the server: %t, by the engine: %t", f.name(), f.row.Type, f.field, value, byServer, byEngine)
				}
			}
		}
		t.Logf("%d values in %d fields tried on release %s", tried, len(fields), r.version)
	})
}

// triedField is a config field of a provider type, or of a map within its config.
type triedField struct {
	api   parse.ProviderAPI
	row   *catalog.Provider
	path  []string
	field catalog.Field
	// beside are the required fields of the map that contains the field, if any.
	beside map[string]any
}

func (f *triedField) name() string { return strings.Join(f.path, ".") }

func (f *triedField) settings(value any) map[string]any {
	last := len(f.path) - 1
	settings := maps.Clone(f.beside)
	if settings == nil {
		settings = map[string]any{}
	}
	settings[f.path[last]] = value
	for _, name := range slices.Backward(f.path[:last]) {
		settings = map[string]any{name: settings}
	}
	return settings
}

// mustSaySomething reports whether the engine is stricter than the server: it rejects empty required values.
func (f *triedField) mustSaySomething(value any) bool { return f.field.Required && value == "" }

// isNarrower reports whether only the server can reject the value.
func (f *triedField) isNarrower(line *catalog.Line, value any) bool {
	name := f.path[len(f.path)-1]
	isScalar := true
	switch value.(type) {
	case []any, map[string]any:
		isScalar = false
	}
	_, isMap := value.(map[string]any)
	return isScalar && (slices.Contains(files, name) || validatedByCode.MatchString(f.name())) ||
		(value == nil && f.field.Default == nil) || // the catalog has only scalar defaults
		(isMap && needsFields(line, f.field)) // the operator adds missing fields
}

// needsFields reports whether the server refuses the map without some fields.
func needsFields(line *catalog.Line, field catalog.Field) bool {
	for _, inner := range line.Objects[field.Object] {
		if inner.Required {
			return true
		}
	}
	return field.Store != ""
}

func tryID(field, value int) string { return fmt.Sprintf("try-%d-%d", field, value) }

// fieldsOfEachKind returns one field of each kind: type, values, and handling of null.
func fieldsOfEachKind(line *catalog.Line) []triedField {
	var fields []triedField
	seen := map[string]bool{}
	var add func(f triedField)
	add = func(f triedField) {
		kind := fmt.Sprint(f.field.Type, f.field.Secret, f.field.AnyOf, f.field.Elements, f.field.Values, f.field.Object, f.field.Store,
			f.field.Required, f.field.Nullable, f.field.Default != nil, len(f.path) > 1)
		if f.field.Type == catalog.TypeInt || f.field.Type == catalog.TypeFloat {
			kind += f.path[len(f.path)-1] // limits differ by field
		}
		if seen[kind] {
			return
		}
		seen[kind] = true
		fields = append(fields, f)
		if requiresMaps(line.Objects[f.field.Object]) {
			return // the operator adds the maps, which TestMatrix tries
		}
		for _, beside := range kindsOf(line.Objects[f.field.Object]) {
			inner := catalog.FieldsForKind(line.Objects[f.field.Object], func(name string) string {
				kind, _ := beside[name].(string)
				return kind
			})
			for _, name := range slices.Sorted(maps.Keys(inner)) {
				add(triedField{f.api, f.row, append(slices.Clone(f.path), name), inner[name], beside})
			}
		}
	}
	for _, api := range parse.ConfigurableAPIs() {
		rows := line.Rows[api.Name]
		for i := range rows {
			for _, name := range rows[i].FieldNames() {
				add(triedField{api: api, row: &rows[i], path: []string{name}, field: rows[i].Fields[name]})
			}
		}
	}
	return fields
}

// requiresMaps reports whether a map requires another map, for which there is no value for all servers.
func requiresMaps(fields map[string]catalog.Field) bool {
	for _, field := range fields {
		if field.Required && (field.Object != "" || field.Store != "") {
			return true
		}
	}
	return false
}

// kindsOf returns the required fields of each kind that a map can have.
func kindsOf(fields map[string]catalog.Field) []map[string]any {
	required := map[string]any{}
	chooser := ""
	for name, field := range fields {
		switch {
		case field.Chooses:
			chooser = name
		case field.Required:
			required[name] = "x"
		}
	}
	if chooser == "" {
		return []map[string]any{required}
	}
	var kinds []map[string]any
	for _, kind := range fields[chooser].Values {
		of := maps.Clone(required)
		of[chooser] = kind
		kinds = append(kinds, of)
	}
	return kinds
}

// valuesRefusedByTheServer loads one config that has a provider for each value of each field.
func valuesRefusedByTheServer(t *testing.T, r release, fields []triedField) map[string]bool {
	t.Helper()
	data, _ := distributions.Base("starter", r.line)
	var tree map[string]any
	framework.NoError(t, yaml.Unmarshal(data, &tree))
	providers := tree["providers"].(map[string]any)
	for i, f := range fields {
		for j, value := range triedValues {
			entries, _ := providers[f.api.Name].([]any)
			providers[f.api.Name] = append(entries, map[string]any{
				"provider_id": tryID(i, j), "provider_type": f.row.Type, "config": f.settings(value),
			})
		}
	}
	content, err := json.Marshal(tree)
	framework.NoError(t, err)
	file := filepath.Join(t.TempDir(), "config.yaml")
	framework.WriteFile(t, file, content)
	refused := map[string]bool{}
	for _, f := range validate(t, r, "--libyaml", file)[0].Findings {
		_, rest, ok := strings.Cut(f.Path, "[try-")
		id, place, _ := strings.Cut(rest, "].config")
		var at, value int
		if n, _ := fmt.Sscanf(id, "%d-%d", &at, &value); f.Kind == "failure" && ok && n == 2 {
			// Failures of other fields do not count. A failure in the class's code names no field.
			if field := fields[at].path[0]; place == "" || strings.HasPrefix(place+".", "."+field+".") || strings.HasPrefix(place, "."+field+"[") {
				refused[tryID(at, value)] = true
			}
		}
	}
	return refused
}

func refusedByTheEngine(t *testing.T, line *catalog.Line, base *serverconfig.Base, f *triedField, value any) bool {
	t.Helper()
	settings := maps.Clone(f.row.Example)
	if settings == nil {
		settings = map[string]any{}
	}
	maps.Copy(settings, f.settings(value))
	_, findings := serverconfig.Generate(t.Context(), serverconfig.Input{
		Name: "values", Namespace: "values", Line: line, Base: base,
		Spec: specWith(t, f.api, map[string]any{"id": matrixID, "provider": f.row.Type, "settings": settings}),
	})
	return slices.ContainsFunc(findings.Errors(), func(found problem.Problem) bool {
		field := "spec.providers." + f.api.Field + ".settings." + f.path[0]
		return found.Path == field || strings.HasPrefix(found.Path, field+".") || strings.HasPrefix(found.Path, field+"[")
	})
}
