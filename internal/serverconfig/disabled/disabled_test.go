// SPDX-License-Identifier: Apache-2.0

package disabled_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/disabled"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/resource"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

func TestAPIsAcceptsBothSpellings(t *testing.T) {
	for _, api := range catalog.KnownAPIs() {
		if got := disabled.APIs([]string{api}); !slices.Equal(got, []string{api}) {
			t.Errorf("%s is not known: %v", api, got)
		}
	}
	got := disabled.APIs([]string{"vectorIo", "vector_io", "TELEMETRY", "nonsense", "inference"})
	if want := []string{"vector_io", "telemetry", "inference"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Proves: FR-044, FR-075, R16.
func TestReadIgnoresDisabledParts(t *testing.T) {
	const all = `
providers: {inference: {provider: vllm}, safety: {provider: llama-guard}, telemetry: {provider: otel}}
resources: {models: [m], shields: [s], tools: [websearch]}
`
	for name, c := range map[string]struct {
		spec                   string
		names, want            []string
		groups                 int
		models, shields, tools int
		problems               string
	}{
		"nothing":           {spec: all, groups: 3, models: 1, shields: 1, tools: 1},
		"what is not there": {spec: "{}", names: []string{"inference", "safety", "toolRuntime"}, want: []string{"inference", "safety", "tool_runtime"}},
		"another API":       {spec: all, names: []string{"eval"}, want: []string{"eval"}, groups: 3, models: 1, shields: 1, tools: 1},
		"inference": {
			spec: all, names: []string{"inference"}, want: []string{"inference"}, groups: 2, shields: 1, tools: 1,
			problems: "Warning DisabledAPI spec.providers.inference\nWarning DisabledAPI spec.resources.models\n",
		},
		"safety": {
			spec: all, names: []string{"safety"}, want: []string{"safety"}, groups: 2, models: 1, tools: 1,
			problems: "Warning DisabledAPI spec.providers.safety\nWarning DisabledAPI spec.resources.shields\n",
		},
		"tools": {
			spec: all, names: []string{"toolRuntime"}, want: []string{"tool_runtime"}, groups: 3, models: 1, shields: 1,
			problems: "Warning DisabledAPI spec.resources.tools\n",
		},
		"a misspelled API": {
			spec: "{}", names: []string{"inference", "inferense"}, want: []string{"inference"}, problems: "InvalidField spec.disabled[1]\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			parsed, found := step.Parsed(t, c.spec), &problem.Collector{}
			spec := &disabled.Spec{
				Names: c.names, Providers: slices.Clone(parsed.Providers), Models: parsed.Models, Shields: parsed.Shields, Tools: parsed.Tools,
			}
			got := disabled.Read(spec, step.Line(t, "0.3"), found)
			if !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
			step.Problems(t, "", found, c.problems)
			if len(spec.Providers) != c.groups || len(spec.Models) != c.models || len(spec.Shields) != c.shields || len(spec.Tools) != c.tools {
				t.Errorf("what is left: %d groups, %d models, %d shields, %d tools", len(spec.Providers), len(spec.Models), len(spec.Shields), len(spec.Tools))
			}
		})
	}
}

// Disabling an API that the release line lacks is a warning, except for telemetry where it is a config section.
func TestReadWarnsOfAPIsThatTheReleaseLineLacks(t *testing.T) {
	for _, c := range []struct{ line, name, want string }{
		{"0.3", "telemetry", ""},
		{"1.0", "telemetry", "Warning UnsupportedByRelease spec.disabled[0]\n"},
		{"1.0", "postTraining", "Warning UnsupportedByRelease spec.disabled[0]\n"},
		{"1.0", "inference", ""},
	} {
		found := &problem.Collector{}
		disabled.Read(&disabled.Spec{Names: []string{c.name}}, step.Line(t, c.line), found)
		step.Problems(t, c.name+" on "+c.line, found, c.want)
	}
}

func TestReadReportsAlternatives(t *testing.T) {
	fix := func(name string) string {
		found := &problem.Collector{}
		disabled.Read(&disabled.Spec{Names: []string{name}}, step.Line(t, "1.0"), found)
		return found.List()[0].Fix
	}
	absence, _ := step.Line(t, "1.0").Absent("telemetry")
	if got := fix("telemetry"); absence.Instead == "" || got != "remove it; "+absence.Instead {
		t.Errorf("%q", got)
	}
	for _, api := range catalog.KnownAPIs() {
		if absence, absent := step.Line(t, "1.0").Absent(api); absent && absence.Instead == "" {
			if got := fix(api); got != "remove it" {
				t.Errorf("%s: %q", api, got)
			}
		}
	}
}

func TestReadStopsAtFullCollector(t *testing.T) {
	found := &problem.Collector{}
	for !found.Full(problem.Error) {
		found.Add(problem.Problem{Reason: problem.InvalidField, Path: "spec.x"})
	}
	before := len(found.List())
	disabled.Read(&disabled.Spec{Names: []string{"nonsense"}}, step.Newest(t), found)
	if len(found.List()) != before {
		t.Errorf("%d problems, %d before", len(found.List()), before)
	}
}

// line has four APIs: sparks needs flint, and fire needs sparks and the registry of wood.
func line(mustBeServed bool) *catalog.Line {
	provider := func(kind string, needs ...string) catalog.Provider {
		return catalog.Provider{Type: kind, Needs: needs}
	}
	return &catalog.Line{
		Name: "9.9", APIsMustBeServed: mustBeServed, InternalAPIs: []string{"inspect"},
		APIs: map[string]catalog.API{"flint": {}, "sparks": {}, "fire": {}, "wood": {Table: "logs"}},
		Rows: map[string][]catalog.Provider{
			"flint": {provider("inline::flint")}, "sparks": {provider("inline::lighter"), provider("inline::sparks", "flint")},
			"fire": {provider("inline::fire", "sparks", "logs")}, "wood": {provider("inline::wood")},
		},
	}
}

const fireplace = `
apis: [flint, sparks, fire, logs]
providers:
  flint: [{provider_id: f, provider_type: inline::flint}]
  sparks: [{provider_id: s, provider_type: inline::sparks}]
  fire: [{provider_id: b, provider_type: inline::fire}]
  wood: [{provider_id: w, provider_type: inline::wood}]
`

// Proves: FR-044, R16.
func TestApplyRemovesAPIsAndDependents(t *testing.T) {
	for name, c := range map[string]struct {
		base, want string
		apis       []string
		served     bool
		problems   string
	}{
		"nothing": {base: fireplace, want: fireplace},
		"an API that nothing needs": {
			base: fireplace, apis: []string{"fire"}, want: `
apis: [flint, sparks, logs]
providers:
  flint: [{provider_id: f, provider_type: inline::flint}]
  sparks: [{provider_id: s, provider_type: inline::sparks}]
  wood: [{provider_id: w, provider_type: inline::wood}]
`,
		},
		"an API by the name of its registry": {
			base: fireplace, apis: []string{"wood"}, problems: "Warning DisabledAPI spec.disabled\n", want: `
apis: [flint, sparks]
providers:
  flint: [{provider_id: f, provider_type: inline::flint}]
  sparks: [{provider_id: s, provider_type: inline::sparks}]
`,
		},
		"over two steps": {
			base: fireplace, apis: []string{"flint"}, problems: "Warning DisabledAPI spec.disabled\n", want: `
apis: [logs]
providers:
  wood: [{provider_id: w, provider_type: inline::wood}]
`,
		},
		"what is named needs no warning": {
			base: fireplace, apis: []string{"flint", "sparks", "fire", "flint"}, want: `
apis: [logs]
providers:
  wood: [{provider_id: w, provider_type: inline::wood}]
`,
		},
		"another provider keeps the API": {
			base: `
providers:
  flint: [{provider_id: f, provider_type: inline::flint}]
  sparks:
  - {provider_id: z, provider_type: inline::sparks}
  - {provider_id: lighter, provider_type: inline::lighter}
  - {provider_id: a, provider_type: inline::sparks}
  - {provider_id: "${env.S}", provider_type: inline::sparks}
  - {provider_id: __disabled__, provider_type: inline::sparks}
  - {provider_id: own, provider_type: remote::own}
  fire: [{provider_id: b, provider_type: inline::fire}]
`,
			apis: []string{"flint"}, problems: "Warning DisabledAPI spec.disabled\n", want: `
apis: [fire, sparks, wood, inspect]
providers:
  sparks:
  - {provider_id: lighter, provider_type: inline::lighter}
  - {provider_id: __disabled__, provider_type: inline::sparks}
  - {provider_id: own, provider_type: remote::own}
  fire: [{provider_id: b, provider_type: inline::fire}]
`,
		},
		"an empty list of APIs where none must be served means none": {
			base: "apis: []\nproviders: {flint: [{provider_id: f, provider_type: inline::flint}]}\n", apis: []string{"flint"},
			want: "apis: []\nproviders: {}\n",
		},
		"an empty list of APIs where they must be served means all": {
			base: "apis: []\nproviders: {flint: [{provider_id: f, provider_type: inline::flint}]}\n", apis: []string{"flint"}, served: true,
			want: "apis: [wood]\nproviders: {}\n",
		},
		"no API is left": {
			base: "apis: [flint]\nproviders: {flint: [{provider_id: f, provider_type: inline::flint}]}\n", apis: []string{"flint"}, served: true,
			want: "apis: []\nproviders: {}\n", problems: "DisabledAPI spec.disabled\n",
		},
		"no API is left where none must be": {
			base: "apis: [flint]\nproviders: {flint: [{provider_id: f, provider_type: inline::flint}]}\n", apis: []string{"flint"},
			want: "apis: []\nproviders: {}\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			doc, found := step.Document(t, c.base), &problem.Collector{}
			disabled.Apply(&disabled.Input{Document: doc, Line: line(c.served), APIs: c.apis}, found)
			if diff := cmp.Diff(step.Compact(t, c.want), step.Compact(t, step.Text(t, doc))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			step.Problems(t, "", found, c.problems)
		})
	}
}

// APIs that the spec configures or uses are not removed silently.
//
// Proves: FR-044, R16.
func TestApplyRejectsDisablingConfiguredAPIs(t *testing.T) {
	const base = `
apis: [tool_runtime, safety, inference]
providers:
  inference: [{provider_id: i, provider_type: remote::vllm}]
  safety:
  - {provider_id: llama-guard, provider_type: inline::llama-guard}
  - {provider_id: other, provider_type: inline::llama-guard}
`
	for name, c := range map[string]struct {
		spec     string
		uses     []resource.Use
		problems string
	}{
		"neither": {spec: "{}"},
		"configured": {
			spec: "providers: {inference: {provider: vllm, id: other}, safety: {provider: llama-guard}}", problems: "DisabledAPI spec.providers.safety\n",
		},
		"used": {
			spec: "{}", uses: []resource.Use{
				{API: "safety", ID: "other", Path: "spec.resources.shields[0]"}, {API: "inference", ID: "other", Path: "spec.resources.models[0]"},
				{API: "safety", ID: "third", Path: "spec.resources.shields[1]"},
			},
			problems: "DisabledAPI spec.resources.shields[0]\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			doc, found := step.Document(t, base), &problem.Collector{}
			disabled.Apply(&disabled.Input{
				Document: doc, Line: step.Line(t, "0.7"), APIs: []string{"inference"}, Providers: step.Parsed(t, c.spec).Providers, Uses: c.uses,
			}, found)
			step.Problems(t, "", found, c.problems+"Warning DisabledAPI spec.disabled\n")
		})
	}
}

// Sections, registered resources and defaults that refer to a removed provider are removed too.
//
// Proves: FR-044, R16.
func TestApplyRemovesReferences(t *testing.T) {
	const providers = `
  inference:
  - {provider_id: i, provider_type: remote::vllm}
  safety:
  - {provider_id: guard, provider_type: inline::llama-guard}
  - {provider_id: scan, provider_type: inline::code-scanner}
  vector_io:
  - {provider_id: v, provider_type: remote::own}
  tool_runtime:
  - {provider_id: t, provider_type: inline::rag-runtime}
`
	const rest = `
registered_resources:
  models: [{model_id: m, provider_id: i}]
  shields: [{shield_id: g, provider_id: guard}, {shield_id: s, provider_id: scan}, {shield_id: lone}]
  vector_stores: [{vector_store_id: x, provider_id: v}]
  other: [{provider_id: guard}]
safety: {default_shield_id: g}
connectors: [{connector_id: c}]
vector_stores:
  default_provider_id: v
  default_embedding_model: {provider_id: i, model_id: e}
  rewrite_query_params: {model: {provider_id: i, model_id: m}, other: 1}
`
	base := "apis: [inference, safety, vector_io, tool_runtime]\nproviders:" + providers + rest
	for name, c := range map[string]struct {
		apis []string
		want string
	}{
		"inference": {apis: []string{"inference"}, want: `
registered_resources:
  shields: [{shield_id: s, provider_id: scan}, {shield_id: lone}]
  vector_stores: [{vector_store_id: x, provider_id: v}]
  other: [{provider_id: guard}]
safety: {}
connectors: [{connector_id: c}]
vector_stores: {default_provider_id: v, rewrite_query_params: {other: 1}}
`},
		"safety": {apis: []string{"safety"}, want: `
registered_resources:
  models: [{model_id: m, provider_id: i}]
  vector_stores: [{vector_store_id: x, provider_id: v}]
  other: [{provider_id: guard}]
connectors: [{connector_id: c}]
vector_stores:
  default_provider_id: v
  default_embedding_model: {provider_id: i, model_id: e}
  rewrite_query_params: {model: {provider_id: i, model_id: m}, other: 1}
`},
		"vector stores and tools": {apis: []string{"vector_io", "tool_runtime"}, want: `
registered_resources:
  models: [{model_id: m, provider_id: i}]
  shields: [{shield_id: g, provider_id: guard}, {shield_id: s, provider_id: scan}, {shield_id: lone}]
  other: [{provider_id: guard}]
safety: {default_shield_id: g}
`},
	} {
		t.Run(name, func(t *testing.T) {
			doc, found := step.Document(t, base), &problem.Collector{}
			disabled.Apply(&disabled.Input{Document: doc, Line: step.Line(t, "0.7"), APIs: c.apis}, found)
			for _, section := range []string{"registered_resources", "safety", "connectors", "vector_stores"} {
				want, got := step.Section(t, c.want, section), step.Section(t, step.Text(t, doc), section)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", section, diff)
				}
			}
		})
	}
}

// A default is removed with its provider, unless another provider has the same id.
func TestApplyRemovesDefaultsOfRemovedProviders(t *testing.T) {
	own := line(false)
	own.APIs["vector_io"], own.APIs["inference"] = catalog.API{}, catalog.API{}
	own.Rows["vector_io"] = []catalog.Provider{{Type: "inline::v", Needs: []string{"flint"}}}
	own.Rows["inference"] = []catalog.Provider{{Type: "inline::i", Needs: []string{"flint"}}}
	for _, other := range []string{"inline::v", "remote::own"} {
		doc, found := step.Document(t, `
providers:
  flint: [{provider_id: f, provider_type: inline::flint}]
  inference: [{provider_id: i, provider_type: inline::i}, {provider_id: j, provider_type: remote::own}]
  vector_io: [{provider_id: v, provider_type: inline::v}, {provider_id: w, provider_type: remote::own}, {provider_id: v, provider_type: "`+other+`"}]
vector_stores:
  default_provider_id: v
  default_embedding_model: {provider_id: i, model_id: e}
  default_reranker_model: {provider_id: j, model_id: e}
`), &problem.Collector{}
		disabled.Apply(&disabled.Input{Document: doc, Line: own, APIs: []string{"flint"}}, found)
		want := `{"default_reranker_model":{"model_id":"e","provider_id":"j"}}`
		if other != "inline::v" {
			want = `{"default_provider_id":"v","default_reranker_model":{"model_id":"e","provider_id":"j"}}`
		}
		if got := step.Section(t, step.Text(t, doc), "vector_stores"); got != want {
			t.Errorf("with another provider of type %s: %s, want %s", other, got, want)
		}
	}
}
