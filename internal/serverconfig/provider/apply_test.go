// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

// invented returns a release line with one provider type for each feature of a row.
func invented(t *testing.T) *catalog.Line {
	t.Helper()
	line, err := catalog.Parse([]byte(`
line: "9.9"
package: made
portEnv: PORT
apis: {inference: {table: models}, tool_runtime: {table: tool_groups}, vector_io: {table: vector_dbs}}
providers:
  inference:
  - type: inline::bare
  - type: remote::full
    endpoint: {field: base_url, kind: url, defaultPath: /v1, required: true}
    key: token
    region: place
    deploymentName: deployed
    example: {project: mine, tries: 3}
    fields:
      base_url: {type: url, required: true}
      token: {type: string, secret: true, required: true}
      other_secret: {type: string, secret: true, required: true}
      place: {type: string}
      deployed: {type: string, required: true}
      project: {type: string}
      tries: {type: int, default: 2}
      inner: {type: map, object: Inner}
  - type: remote::old
    deprecated: true
  - type: remote::sparse
    endpoint: {field: url, kind: url}
    key: token
    instead: {region: the region is part of the endpoint}
    fields:
      url: {type: url, default: http://h}
      token: {type: string, secret: true}
  tool_runtime:
  - type: remote::mcp
    toolGroup: "mcp::"
  vector_io:
  - type: inline::stored
    dataPath: db_path
    fields:
      db_path: {type: string, required: true}
      keys: {type: map, store: kv, required: true}
      tables: {type: map, store: sql, required: true}
      spare: {type: map, store: kv}
      note: {type: string, required: true, nullable: true}
      free: {type: string, nullable: true}
  - type: remote::dir
    dataPath: path
    fields:
      path: {type: string}
objects:
  Inner:
    needed: {type: string, required: true}
    nothing: {type: string, required: true, nullable: true}
`))
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// applied applies spec.providers to a base, and returns the document, the status entries and the problems.
func applied(t *testing.T, sections, providers string) (*document.Document, []Entry, string) {
	t.Helper()
	parsed := step.Parsed(t, "providers:\n"+providers)
	doc, problems := step.Document(t, sections), &problem.Collector{}
	entries := Apply(t.Context(), doc, invented(t), parsed.Providers, environment.NewSet(parsed.Source), problems)
	return doc, entries, step.Texts(problems)
}

func expectText(t *testing.T, what, got, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// An entry starts from the base's entry with its id, which it replaces, or from the first one of its type.
//
// Proves: R9, FR-031, FR-032, FR-033, FR-035.
func TestApplyMergesEntriesIntoBase(t *testing.T) {
	doc, entries, problems := applied(t, `
apis: [vector_io]
providers:
  inference:
  - {provider_id: full, provider_type: remote::sparse, config: {other: type}}
  - {provider_id: first, provider_type: remote::full, config: {kept: 1, base_url: "http://old"}}
  - {provider_id: "${env.X:+mine}", provider_type: remote::full, extra: yes, config: {kept: 2, token: old}}
  - {provider_id: last, provider_type: remote::full, config: {kept: 3}}
  - {provider_id: nothing, provider_type: inline::bare, config: null}
`, `
  inference:
  - {id: mine, provider: full, endpoint: "http://h", apiKey: {name: s, key: k}, deploymentName: d, settings: {place: p, project: q}, other_secret: {name: s, key: o}}
  - {id: full, provider: full, endpoint: "http://h/x?a=b", apiKey: {name: s, key: k}, deploymentName: d, region: r, otherSecret: {name: s, key: o}, settings: {project: q}}
  - {id: bare, provider: bare}
  - {id: empty, provider: bare, settings: {}}
  telemetry: {provider: opentelemetry, endpoint: "http://otel:4318"}
`)
	expectText(t, "problems", problems, "")
	expectText(t, "providers", step.Text(t, doc), `
apis:
- vector_io
- inference
providers:
  inference:
  - provider_id: full
    provider_type: remote::full
    config:
      kept: 1
      base_url: http://h/x?a=b
      token: ${env.LLSD_FULL_API_KEY}
      place: r
      deployed: d
      other_secret: ${env.LLSD_FULL_OTHER_SECRET}
      project: q
  - provider_id: first
    provider_type: remote::full
    config:
      kept: 1
      base_url: "http://old"
  - provider_id: mine
    provider_type: remote::full
    extra: yes
    config:
      kept: 2
      token: ${env.LLSD_MINE_API_KEY}
      base_url: http://h/v1
      deployed: d
      other_secret: ${env.LLSD_MINE_OTHER_SECRET}
      place: p
      project: q
  - provider_id: last
    provider_type: remote::full
    config:
      kept: 3
  - provider_id: nothing
    provider_type: inline::bare
    config: null
  - provider_id: bare
    provider_type: inline::bare
    config: null
  - provider_id: empty
    provider_type: inline::bare
    config: null
`)
	var shown []string
	for _, e := range entries {
		shown = append(shown, e.API+" "+e.ID+" "+e.Type)
	}
	expectText(t, "status", strings.Join(shown, ", "),
		"inference mine remote::full, inference full remote::full, inference bare inline::bare, inference empty inline::bare")
	if config := string(entries[2].Config); config != "{}" {
		t.Errorf("a provider without a config is shown with %s", config)
	}
}

func TestApplyWritesNoEmptyConfig(t *testing.T) {
	doc, _, _ := applied(t, "", "\n  inference: {provider: bare}\n")
	expectText(t, "providers", step.Section(t, step.Text(t, doc), "providers"), `{"inference":[{"provider_id":"bare","provider_type":"inline::bare"}]}`)
}

// Proves: R25.
func TestApplyRejectsAPIsMissingInReleaseLine(t *testing.T) {
	doc, entries, problems := applied(t, "", "\n  safety: {provider: llama-guard}\n")
	if !strings.HasPrefix(problems, "UnsupportedByRelease spec.providers.safety") || len(entries) > 0 || document.Keys(doc.Section("providers")) != nil {
		t.Errorf("%s: %v, %v", problems, entries, document.Keys(doc.Section("providers")))
	}
}

// Proves: R63.
func TestApplyStopsWithItsContext(t *testing.T) {
	parsed := step.Parsed(t, "providers: {inference: {provider: bare}}\n")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("caller stopped"))
	doc := step.Document(t, "")
	if entries := Apply(ctx, doc, invented(t), parsed.Providers, environment.NewSet(parsed.Source), &problem.Collector{}); entries != nil {
		t.Errorf("%v", entries)
	}
	if len(doc.Identities("inference")) > 0 {
		t.Error("a provider is added")
	}
}

// Providers share no storage locations. An override of the base's entry keeps that entry's locations.
//
// Proves: R9, L-07.
func TestApplyGivesEachProviderItsOwnStorage(t *testing.T) {
	doc, _, problems := applied(t, `
storage:
  backends:
    memory: {type: kv_redis}
    kv_default: {type: kv_sqlite, db_path: "/data/kv.db"}
    big: {type: sql_sqlite, db_path: "/data/sql.db"}
providers:
  vector_io:
  - provider_id: stored
    provider_type: inline::stored
    config:
      db_path: "${env.DIR:=/a/b}/own.sqlite"
      keys: {backend: kv_default, namespace: base}
      tables: {backend: big, table_name: base}
      spare: null
      deeper: [{a: {backend: kv_default, namespace: base}}, {namespace: kept}, {backend: kept}]
  - {provider_id: pathless, provider_type: remote::dir, config: {path: "/top"}}
`, `
  vectorIo:
  - {id: stored, provider: stored}
  - {id: copied, provider: stored, settings: {note: mine}}
  - {id: rooted, provider: dir}
`)
	expectText(t, "problems", problems, "")
	const tree = `{"vector_io":[` +
		`{"config":{"db_path":"${env.DIR:=/a/b}/own.sqlite","deeper":[{"a":{"backend":"kv_default","namespace":"base"}},{"namespace":"kept"},{"backend":"kept"}],` +
		`"keys":{"backend":"kv_default","namespace":"base"},"note":null,"spare":null,"tables":{"backend":"big","table_name":"base"}},` +
		`"provider_id":"stored","provider_type":"inline::stored"},` +
		`{"config":{"path":"/top"},"provider_id":"pathless","provider_type":"remote::dir"},` +
		`{"config":{"db_path":"${env.DIR:=/a/b}/vector_io_copied.sqlite","deeper":[{"a":{"backend":"kv_default","namespace":"vector_io::copied::deeper::a"}},` +
		`{"namespace":"kept"},{"backend":"kept"}],"keys":{"backend":"kv_default","namespace":"vector_io::copied::keys"},"note":"mine","spare":null,` +
		`"tables":{"backend":"big","table_name":"vector_io_copied_tables"}},"provider_id":"copied","provider_type":"inline::stored"},` +
		`{"config":{"path":"${env.SQLITE_STORE_DIR:=/.llama}/vector_io_rooted.db"},"provider_id":"rooted","provider_type":"remote::dir"}]}`
	expectText(t, "providers", step.Section(t, step.Text(t, doc), "providers"), tree)
}

// Missing locations are created in the configured backends and next to the base's files.
//
// Proves: R9.
func TestApplyAddsStorageOfProviders(t *testing.T) {
	for sections, want := range map[string]string{
		"storage: {backends: {memory: {type: kv_redis}, big: {type: sql_sqlite, db_path: /data/sql.db}, other: {type: kv_sqlite, db_path: /other/kv.db}}}\n": `
			"db_path":"/data/vector_io_new.db","keys":{"backend":"memory","namespace":"vector_io::new::keys"},"note":null,"tables":{"backend":"big","table_name":"vector_io_new_tables"}`,
		"storage: {backends: {memory: {type: kv_redis}}}\n": `
			"db_path":"${env.SQLITE_STORE_DIR:=/.llama}/vector_io_new.db","keys":{"backend":"memory","namespace":"vector_io::new::keys"},"note":null,` +
			`"tables":{"backend":"sql_default","table_name":"vector_io_new_tables"}`,
	} {
		doc, _, problems := applied(t, sections, "\n  vectorIo: {id: new, provider: stored}\n")
		expectText(t, "problems", problems, "")
		config := document.Child(doc.ProvidersOf("vector_io").Content[0], "config")
		expectText(t, sections, step.Compact(t, textOf(t, config)), "{"+strings.TrimSpace(want)+"}")
	}
	// Locations in settings are kept.
	doc, _, problems := applied(t, "", `
  vectorIo: {id: new, provider: stored, settings: {db_path: /mine, note: x, keys: {backend: a, namespace: b}, tables: {backend: c, table_name: d}}}
`)
	expectText(t, "problems", problems, "")
	expectText(t, "settings", step.Compact(t, textOf(t, document.Child(doc.ProvidersOf("vector_io").Content[0], "config"))),
		`{"db_path":"/mine","keys":{"backend":"a","namespace":"b"},"note":"x","tables":{"backend":"c","table_name":"d"}}`)
}

func textOf(t *testing.T, n *yaml.Node) string {
	t.Helper()
	text, err := yaml.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
