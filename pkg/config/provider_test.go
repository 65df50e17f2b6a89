// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/parse"
)

// made is a release line that no server has: what the real ones happen not to have now is tried with it.
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

func resolveMade(t *testing.T, p parse.Provider) (*provider, *report) {
	t.Helper()
	var findings report
	p.Path, p.SettingsField = "spec.x", "settings"
	return resolveProvider(parse.APIInference, &p, made(t), &findings), &findings
}

func wantFindings(t *testing.T, findings *report, want ...string) {
	t.Helper()
	var got []string
	for _, f := range findings.all() {
		got = append(got, string(f.Severity)+" "+string(f.Code)+" "+f.Path)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("findings:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Proves: R25 (what the server refuses to start with is refused before).
func TestRefusedType(t *testing.T) {
	_, findings := resolveMade(t, parse.Provider{Type: "gone"})
	wantFindings(t, findings, "Error UnsupportedByRelease spec.x.provider")
}

// What is wrong within maps and lists of settings is found there, secrets in them do not reach the status, and another name of a
// field takes the place of the base's.
//
// Proves: R7, R29, R34, FR-033.
func TestNestedSettings(t *testing.T) {
	p, findings := resolveMade(t, parse.Provider{Type: "nested", Settings: map[string]any{
		"inner": map[string]any{"pass": "hunter2", "deeper": map[string]any{"pass": int64(5), "unknown": true, "needed": nil}},
		"list":  []any{map[string]any{"pass": "hunter2", "needed": "${env.P}"}, "y"},
		"other": nil,
	}})
	wantFindings(t, findings,
		"Error InvalidField spec.x.settings.inner.deeper.needed", "Error InvalidField spec.x.settings.inner.deeper.pass",
		"Error InvalidField spec.x.settings.list[1]",
		"Warning UnknownField spec.x.settings.inner.deeper.unknown", "Warning LiteralSecret spec.x.settings.inner.pass",
		"Warning LiteralSecret spec.x.settings.list[0].pass")

	base := &yaml.Node{}
	if err := yaml.Unmarshal([]byte("provider_id: nested\nprovider_type: remote::nested\nconfig: {name: a, other: b, kept: 1}"), base); err != nil {
		t.Fatal(err)
	}
	root := &yaml.Node{Kind: yaml.MappingNode}
	entry := p.entry(template{entry: base.Content[0], own: true}, root, root)
	if got := strings.Join(document.Keys(document.Child(entry, "config")), " "); got != "name kept inner list" {
		t.Errorf("the config has %s", got)
	}
	var required report
	p.checkRequired(entry, nil, &required)
	wantFindings(t, &required, "Error InvalidField spec.x.settings.inner.deeper.needed", "Error InvalidField spec.x.settings.inner.needed")
	if shown := string(p.status(entry).Config); strings.Contains(shown, "hunter2") || !strings.Contains(shown, redacted) {
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
	if got := tableName("vector_io::a1::metadata_store", "a1"); got != "vector_io_a1_metadata_store" {
		t.Errorf("plain id: %q", got)
	}
}

// What looks like a secret is not shown in the status, in known types and in others.
//
// Proves: R7, R29.
func TestStatusHidesWhatLooksSecret(t *testing.T) {
	for _, providerType := range []string{"remote::nested", "remote::unknown"} {
		p, _ := resolveMade(t, parse.Provider{Type: providerType, Settings: map[string]any{
			"free": map[string]any{"Authorization": "Bearer hunter2", "X-Api-Key": "hunter2", "shown": "blue"},
			"urls": []any{[]any{"http://h?api_key=hunter2"}, "http://me:hunter2@h", map[string]any{"password": int64(22222)}},
		}})
		root := &yaml.Node{Kind: yaml.MappingNode}
		shown := string(p.status(p.entry(template{}, root, root)).Config)
		if strings.Contains(shown, "hunter2") || strings.Contains(shown, "22222") || !strings.Contains(shown, "blue") {
			t.Errorf("%s: the status shows %s", providerType, shown)
		}
	}
}
