// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// made returns an invented release line with features that the current ones lack.
func made(t *testing.T) *catalog.Line {
	t.Helper()
	line, err := catalog.Parse([]byte(`
line: "9.9"
package: made
portEnv: PORT
apis: {inference: {table: models}}
providers:
  inference:
  - type: remote::gone
    refused: true
  - type: remote::nested
    fields:
      inner: {type: map, object: Inner}
      list: {type: list, object: Inner}
      name: {type: string, nullable: true, default: x}
      other: {type: string, aliasOf: name}
objects:
  Inner:
    needed: {type: string, required: true}
    pass: {type: string, secret: true}
    deeper: {type: map, object: Inner}
`))
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func resolveMade(t *testing.T, p parse.Provider) (*Provider, *problem.Collector) {
	t.Helper()
	var problems problem.Collector
	p.Path, p.SettingsField = "spec.x", "settings"
	return Resolve(parse.APIInference, &p, made(t), &problems), &problems
}

func expectProblems(t *testing.T, problems *problem.Collector, want ...string) {
	t.Helper()
	var got []string
	for _, p := range problems.List() {
		got = append(got, string(p.Severity)+" "+string(p.Reason)+" "+p.Path)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("problems:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func emptyDocument(t *testing.T) *document.Document {
	t.Helper()
	base, err := document.ParseBase("empty", []byte("providers: {}"))
	if err != nil {
		t.Fatal(err)
	}
	return base.Edit()
}

// Proves: R25 (types that the server refuses to start with are rejected).
func TestRefusedType(t *testing.T) {
	_, problems := resolveMade(t, parse.Provider{Type: "gone"})
	expectProblems(t, problems, "Error UnsupportedByRelease spec.x.provider")
}

// Nested settings are checked, their secrets are hidden, and an alias of a field replaces the base's field.
//
// Proves: R7, R29, R34, FR-033.
func TestNestedSettings(t *testing.T) {
	p, problems := resolveMade(t, parse.Provider{Type: "nested", Settings: map[string]any{
		"inner": map[string]any{"pass": "hunter2", "deeper": map[string]any{"pass": int64(5), "unknown": true, "needed": nil}},
		"list":  []any{map[string]any{"pass": "hunter2", "needed": "${env.P}"}, "y"},
		"other": nil,
	}})
	expectProblems(t, problems,
		"Error InvalidField spec.x.settings.inner.deeper.needed", "Error InvalidField spec.x.settings.inner.deeper.pass",
		"Error InvalidField spec.x.settings.list[1]",
		"Warning UnknownField spec.x.settings.inner.deeper.unknown", "Warning LiteralSecret spec.x.settings.inner.pass",
		"Warning LiteralSecret spec.x.settings.list[0].pass")

	base := &yaml.Node{}
	if err := yaml.Unmarshal([]byte("provider_id: nested\nprovider_type: remote::nested\nconfig: {name: a, other: b, kept: 1}"), base); err != nil {
		t.Fatal(err)
	}
	entry := p.entry(template{entry: base.Content[0], sameID: true}, emptyDocument(t))
	if got := strings.Join(document.Keys(document.Child(entry, "config")), " "); got != "name kept inner list" {
		t.Errorf("the config has %s", got)
	}
	var required problem.Collector
	(&requiredCheck{schema: p.schema, spec: p.spec, problems: &required}).check(document.Child(entry, "config"))
	expectProblems(t, &required, "Error MissingField spec.x.settings.inner.deeper.needed", "Error MissingField spec.x.settings.inner.needed")
	if shown := string(p.statusEntry(entry).Config); strings.Contains(shown, "hunter2") || !strings.Contains(shown, redacted) {
		t.Errorf("the status shows %s", shown)
	}
}

// Proves: R9.
func TestTableName(t *testing.T) {
	seen := map[string]string{}
	for _, id := range []string{"a", "a1", "A1", "a_b", "a-b", "a.b", strings.Repeat("x", 63), strings.Repeat("x", 62) + "y"} {
		name := tableName("vector_io::"+id+"::metadata_store", id)
		if other, taken := seen[name]; taken {
			t.Errorf("%s and %s have the table %s", id, other, name)
		}
		seen[name] = id
		if len(name) > maxTableName || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			t.Errorf("%s: table %q", id, name)
		}
	}
	longest := strings.Repeat("x", maxTableName-len("vector_io__store"))
	for id, want := range map[string]string{
		"a1":             "vector_io_a1_store",
		longest:          "vector_io_" + longest + "_store",
		longest + "x":    "vector_io_" + longest[:maxTableName-len("vector_io_")-len("_01234567")] + "_",
		"A-Z.a_z~0`9{/:": "vector_io_a_z_a_z_0_9____store_",
	} {
		if got := tableName("vector_io::"+id+"::store", id); !strings.HasPrefix(got, want) || strings.HasSuffix(want, "_store") && got != want {
			t.Errorf("%s: table %q, want %q", id, got, want)
		}
	}
}

// Proves: R7, R29.
func TestStatusHidesSecretLikeValues(t *testing.T) {
	for _, providerType := range []string{"remote::nested", "remote::unknown"} {
		p, _ := resolveMade(t, parse.Provider{Type: providerType, Settings: map[string]any{
			"free": map[string]any{"Authorization": "Bearer hunter2", "X-Api-Key": "hunter2", "shown": "blue"},
			"urls": []any{[]any{"http://h?api_key=hunter2"}, "http://me:hunter2@h", map[string]any{"password": int64(22222)}},
		}})
		shown := string(p.statusEntry(p.entry(template{}, emptyDocument(t))).Config)
		if strings.Contains(shown, "hunter2") || strings.Contains(shown, "22222") || !strings.Contains(shown, "blue") {
			t.Errorf("%s: the status shows %s", providerType, shown)
		}
	}
}

// Proves: R74 (suggestions include the fields of a provider entry).
func TestUnknownSecretFieldSuggestsFieldsOfTheEntry(t *testing.T) {
	for direct, want := range map[bool]string{
		true:  `spec.x: Invalid value: remote::nested has no field of this name on release line 9.9, so the server ignores it: did you mean "apiKey"?`,
		false: "spec.x: Invalid value: remote::nested has no field of this name on release line 9.9, so the server ignores it: its fields are inner, list, name",
	} {
		ref := parse.SecretField{Field: "api_key", Ref: parse.SecretReference{Name: "s", Key: "k"}, Direct: direct, Path: "spec.x"}
		_, problems := resolveMade(t, parse.Provider{Type: "nested", SecretRefs: []parse.SecretField{ref}})
		if got := problems.List().Message(); got != want {
			t.Errorf("direct %t: %s\nwant %s", direct, got, want)
		}
	}
}

// Proves: R74.
func TestInvalidValuesAreShownUnlessTheyMayBeSecret(t *testing.T) {
	line, err := catalog.Parse([]byte(`
line: "9.9"
package: made
portEnv: PORT
apis: {inference: {table: models}}
providers:
  inference:
  - type: remote::typed
    fields:
      count: {type: int}
      mode: {type: string, values: [fast, slow]}
      pass: {type: string, secret: true}
`))
	if err != nil {
		t.Fatal(err)
	}
	for want, settings := range map[string]map[string]any{
		"spec.x.settings.count: Invalid value: 1.5: remote::typed accepts an integer here":                                    {"count": 1.5},
		"spec.x.settings.count: Invalid value: remote::typed accepts an integer here":                                         {"count": "hunter2"},
		`spec.x.settings.mode: Unsupported value: "fsat": remote::typed accepts one of fast, slow here: did you mean "fast"?`: {"mode": "fsat"},
		"spec.x.settings.mode: Invalid value: remote::typed accepts one of fast, slow here":                                   {"mode": "sk-hunter2-of-somebody"},
		"spec.x.settings.pass: Invalid value: remote::typed accepts a string":                                                 {"pass": int64(77777)},
	} {
		var problems problem.Collector
		Resolve(parse.APIInference, &parse.Provider{Type: "typed", Settings: settings, Path: "spec.x", SettingsField: "settings"}, line, &problems)
		got := problems.List().Message()
		if !strings.HasPrefix(got, want) || strings.Contains(got, "hunter2") || strings.Contains(got, "77777") {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
