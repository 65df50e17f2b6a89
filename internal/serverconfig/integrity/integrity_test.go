// SPDX-License-Identifier: Apache-2.0

package integrity_test

import (
	"context"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/integrity"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

type testCase struct {
	// line defaults to 0.7.
	line, base, spec, want string
	change                 func(*catalog.Line)
}

func (c *testCase) input(t *testing.T) *integrity.Input {
	t.Helper()
	name := c.line
	if name == "" {
		name = "0.7"
	}
	line := step.Line(t, name)
	if c.change != nil {
		c.change(line)
	}
	spec := c.spec
	if spec == "" {
		spec = "{}"
	}
	parsed := step.Parsed(t, spec)
	return &integrity.Input{
		Document: step.Document(t, c.base), Line: line, Spec: parsed.Source, Providers: parsed.Providers, Environment: environment.NewSet(parsed.Source),
	}
}

func run(t *testing.T, cases map[string]testCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			found := &problem.Collector{}
			integrity.Check(t.Context(), c.input(t), found)
			step.Problems(t, "", found, c.want)
		})
	}
}

const (
	broken = "BrokenReference config.yaml: "
	vllm   = "providers: {inference: [{provider_id: v, provider_type: remote::vllm}]}\n"
)

// Proves: FR-075, EC-4, R25.
func TestCheckFindsReferencesToMissingProviders(t *testing.T) {
	run(t, map[string]testCase{
		"nothing at all": {base: ""},
		"a model without its provider": {
			base: vllm + "registered_resources: {models: [{model_id: a, provider_id: v}, {model_id: b, provider_id: w}], unknown: [{provider_id: w}]}\n",
			want: "BrokenReference config.yaml: registered_resources.models[1].provider_id\n",
		},
		"all providers, where the release line knows this": {
			line: "1.4", base: vllm + "registered_resources: {models: [{model_id: a, provider_id: all}], shields: [{shield_id: s, provider_id: all}]}\n",
			want: "BrokenReference config.yaml: registered_resources.shields[0].provider_id\n",
		},
		"all providers, where it does not": {
			base: vllm + "registered_resources: {models: [{model_id: a, provider_id: all}]}\n",
			want: "BrokenReference config.yaml: registered_resources.models[0].provider_id\n",
		},
		"what the server skips": {
			base: vllm + "registered_resources: {models: [{model_id: a}, {model_id: b, provider_id: ''}, {model_id: c, provider_id: '${env.X}'}]}\n",
		},
		"a provider that the environment names may be the one": {
			base: "providers: {inference: [{provider_id: '${env.X}', provider_type: remote::vllm}]}\nregistered_resources: {models: [{model_id: a, provider_id: v}]}\n",
		},
		"the default of the vector stores": {
			base: vllm + "vector_stores: {default_provider_id: gone}\n",
			want: "BrokenReference config.yaml: vector_stores.default_provider_id\n",
		},
		"models of the vector stores": {
			base: vllm + "vector_stores: {default_embedding_model: {provider_id: gone, model_id: e}, rewrite_query_params: {model: {provider_id: v, model_id: m}}}\n",
			want: "BrokenReference config.yaml: vector_stores.default_embedding_model.provider_id\n",
		},
		"a model of another type than the vector stores need": {
			base: vllm + `
registered_resources:
  models:
  - {model_id: m, provider_id: v}
  - {model_id: e, provider_id: v, model_type: embedding, metadata: {embedding_dimension: 1}}
vector_stores:
  default_embedding_model: {provider_id: v, model_id: m}
  rewrite_query_params: {model: {provider_id: v, model_id: e}}
  contextual_retrieval_params: {model: {provider_id: v, model_id: m}}
`,
			want: "BrokenReference config.yaml: vector_stores.default_embedding_model\nBrokenReference config.yaml: vector_stores.rewrite_query_params.model\n",
		},
		"a model registered twice, once with the right type": {
			base: vllm + `
registered_resources:
  models:
  - {model_id: e, provider_id: v, model_type: embedding, metadata: {embedding_dimension: 1}}
  - {model_id: x, provider_id: v, provider_model_id: e, model_type: rerank}
vector_stores: {default_embedding_model: {provider_id: v, model_id: e}}
`,
			want: "BrokenReference config.yaml: registered_resources.models[1]\n",
		},
	})
}

func TestCheckFindsMissingModelFields(t *testing.T) {
	run(t, map[string]testCase{
		"a dimension": {
			base: vllm + "registered_resources: {models: [{model_id: a, provider_id: v}, {model_id: e, provider_id: v, model_type: embedding}]}\n",
			want: "BrokenReference config.yaml: registered_resources.models[1].metadata\n",
		},
		"a dimension, of a provider that is off": {
			base: vllm + "registered_resources: {models: [{model_id: e, provider_id: __disabled__, model_type: embedding}]}\n",
		},
		"a name of its own": {
			base: vllm + "registered_resources: {models: [{model_id: a, provider_id: v}, {model_id: b, provider_id: v}, {model_id: a, provider_id: v}]}\n",
			want: "BrokenReference config.yaml: registered_resources.models[2]\n",
		},
		"no name at all, or one that the environment gives": {
			base: vllm + `registered_resources: {models: [{provider_id: v}, {provider_id: v}, {model_id: "${env.M}", provider_id: v}, {model_id: "${env.M}", provider_id: v}]}
`,
		},
		"a name that two conditional providers share": {
			base: "providers: {inference: [{provider_id: '${env.X:+v}', provider_type: remote::vllm}]}\n" +
				"registered_resources: {models: [{model_id: a, provider_id: '${env.X:+v}'}, {model_id: a, provider_id: '${env.X:+v}'}]}\n",
		},
		"a dimension, of a conditional provider": {
			base: "providers: {inference: [{provider_id: '${env.X:+v}', provider_type: remote::vllm}]}\n" +
				"registered_resources: {models: [{model_id: a, provider_id: '${env.X:+v}', model_type: embedding, metadata: {}}]}\n",
			want: "BrokenReference config.yaml: registered_resources.models[0].metadata\n",
		},
	})
}

func TestCheckFindsConnectorsOfOneID(t *testing.T) {
	run(t, map[string]testCase{
		"": {
			base: "connectors: [{connector_id: a}, {connector_id: b}, {connector_id: a}, {url: x}, {url: y}]\n",
			want: "BrokenReference config.yaml: connectors[2].connector_id\n",
		},
	})
}

func TestCheckFindsMissingDefaultShields(t *testing.T) {
	const scanner = "providers: {safety: [{provider_id: s, provider_type: inline::code-scanner}, {provider_id: '${env.C:+c}', provider_type: inline::code-scanner}]}\n"
	withDefault := func(shields, id string) string {
		return scanner + "registered_resources: {shields: [" + shields + "]}\nsafety: {default_shield_id: " + id + "}\n"
	}
	run(t, map[string]testCase{
		"there":                        {base: withDefault("{shield_id: a, provider_id: s}, {shield_id: b, provider_id: s}", "b")},
		"no default":                   {base: withDefault("{shield_id: a, provider_id: s}", "''")},
		"the environment's":            {base: withDefault("{shield_id: a, provider_id: s}", "'${env.D}'")},
		"no shields":                   {base: withDefault("", "a")},
		"a shield of the environment":  {base: withDefault("{shield_id: a, provider_id: s}, {shield_id: '${env.N}', provider_id: s}", "b")},
		"a shield that is off is none": {base: withDefault("{shield_id: '${env.N}', provider_id: __disabled__}", "b")},
		"only itself, conditional":     {base: withDefault("{shield_id: b, provider_id: '${env.C:+c}'}", "b")},
		"itself and another, both conditional": {
			base: withDefault("{shield_id: b, provider_id: '${env.C:+c}'}, {shield_id: a, provider_id: '${env.C:+c}'}", "b"),
		},
		"another": {
			base: withDefault("{shield_id: a, provider_id: s}", "b"), want: "BrokenReference config.yaml: safety.default_shield_id\n",
		},
		"another, conditional": {
			base: withDefault("{shield_id: a, provider_id: '${env.C:+c}'}", "b"), want: "BrokenReference config.yaml: safety.default_shield_id\n",
		},
		"conditional, and another is always there": {
			base: withDefault("{shield_id: a, provider_id: s}, {shield_id: b, provider_id: '${env.C:+c}'}, {shield_id: d, provider_id: '${env.C:+c}'}", "b"),
			want: "BrokenReference config.yaml: safety.default_shield_id\n",
		},
	})
}

// Proves: EC-4.
func TestCheckFindsAPIsThatNothingServes(t *testing.T) {
	run(t, map[string]testCase{
		"known, internal, a registry, of the environment": {base: vllm + "apis: [inference, inspect, datasets, '${env.X}']\n"},
		"unknown":                           {base: vllm + "apis: [inference, nonsense]\n", want: broken + "apis[1]\n"},
		"unknown providers":                 {base: "providers: {nonsense: []}\n", want: broken + "providers.nonsense\n"},
		"an image that brings its own APIs": {base: "external_apis_dir: /x\napis: [nonsense]\nproviders: {nonsense: []}\n"},
		"not served":                        {base: "apis: [files]\n", want: "BrokenReference config.yaml: apis[0]\n"},
		"not served, where it need not be":  {base: "apis: [files]\n", change: func(l *catalog.Line) { l.APIsMustBeServed = false }},
		"configured by the spec, reported once": {
			line: "1.4", base: "apis: [safety]\nproviders: {safety: [{provider_id: s, provider_type: remote::own}]}\n",
			spec: "providers: {safety: {provider: own, id: s}}",
			want: "UnsupportedByRelease spec.providers.safety\n",
		},
	})
}

// Proves: EC-4.
func TestCheckFindsProvidersWithMissingDependencies(t *testing.T) {
	const guard = "apis: [safety]\nproviders: {safety: [{provider_id: g, provider_type: inline::llama-guard}]}\n"
	run(t, map[string]testCase{
		"served":      {base: "providers: {inference: [{provider_id: v, provider_type: remote::vllm}], safety: [{provider_id: g, provider_type: inline::llama-guard}]}\n"},
		"disabled":    {base: "providers: {safety: [{provider_id: __disabled__, provider_type: inline::llama-guard}]}\n"},
		"of the base": {base: guard, want: "BrokenReference config.yaml: providers.safety[0]\n"},
		"of the spec": {
			base: guard, spec: "providers: {safety: {provider: llama-guard, id: g}}",
			want: "BrokenReference spec.providers.safety.provider\n",
		},
		"several": {
			base: "apis: [batches]\nproviders: {batches: [{provider_id: b, provider_type: inline::reference}]}\n",
			want: "BrokenReference config.yaml: providers.batches[0]\n",
		},
		"a registry that is in the list": {
			base: "apis: [scoring, datasetio]\nproviders: {datasetio: [{provider_id: d, provider_type: inline::localfs}], scoring: [{provider_id: s, provider_type: inline::basic}]}\n",
		},
		"a registry that may be in the list": {
			base: "apis: [scoring, '${env.X}']\nproviders: {scoring: [{provider_id: s, provider_type: inline::basic}]}\n",
		},
		"a registry that is not in the list": {
			base: "apis: [scoring]\nproviders: {scoring: [{provider_id: s, provider_type: inline::basic}]}\n",
			want: "BrokenReference config.yaml: providers.scoring[0]\n",
		},
		"a registry without a list": {base: "providers: {scoring: [{provider_id: s, provider_type: inline::basic}]}\n"},
		"what the release line does not know": {
			base: "providers: {safety: [{provider_id: s, provider_type: inline::odd}]}\n",
			change: func(l *catalog.Line) {
				l.Rows = map[string][]catalog.Provider{"safety": {{Type: "inline::odd", Needs: []string{"unheard"}}}}
			},
		},
	})
}

const backends = `
  backends:
    kv_default: {type: kv_sqlite, db_path: k}
    sql_default: {type: sql_sqlite, db_path: s}
    odd: {type: "${env.T}"}
    bare: {}
`

func TestCheckFindsBrokenBackends(t *testing.T) {
	run(t, map[string]testCase{
		"the server's own": {base: `
storage:
  stores: {metadata: {backend: kv_default, namespace: registry}, inference: {backend: sql_default, table_name: i}}
`},
		"one that the server does not make": {
			base: "storage:\n  stores: {metadata: {backend: mine, namespace: registry}}\n",
			want: "BrokenReference config.yaml: storage.stores.metadata.backend\n",
		},
		"of every kind": {
			base: "storage:" + backends + `
  stores:
    metadata: {backend: sql_default, namespace: registry}
    inference: {backend: kv_default, table_name: i}
    conversations: {backend: odd, table_name: c}
    prompts: {backend: bare, namespace: p}
    connectors: {backend: "${env.B}", namespace: p}
    unknown: {backend: sql_default, namespace: x}
    other: {backend: kv_default, table_name: x}
    both: {backend: kv_default, table_name: x, namespace: "y"}
    alone: {backend: gone}
    gone: {backend: gone, table_name: x, namespace: "y"}
`,
			want: "BrokenReference config.yaml: storage.stores.metadata.backend\nBrokenReference config.yaml: storage.stores.inference.backend\nBrokenReference config.yaml: storage.stores.unknown.backend\nBrokenReference config.yaml: storage.stores.other.backend\nBrokenReference config.yaml: storage.stores.gone.backend\n",
		},
		"of providers, at any depth": {
			base: "apis: []\nstorage:" + backends + `
providers:
  inference:
  - {provider_id: v, provider_type: remote::vllm, config: {a: {b: [{backend: gone, namespace: x}, {backend: kv_default, namespace: "y"}]}}}
  - {provider_id: w, provider_type: remote::own, config: {c: {backend: sql_default, namespace: x}}}
  - {provider_id: __disabled__, provider_type: remote::own, config: {c: {backend: gone, namespace: x}}}
`,
			want: "BrokenReference config.yaml: providers.inference[0].config.a.b[0].backend\nBrokenReference config.yaml: providers.inference[1].config.c.backend\n",
		},
		"by what the catalog knows of a field": {
			base: "storage:" + backends + `
providers:
  files: [{provider_id: f, provider_type: inline::localfs, config: {metadata_store: {backend: kv_default, table_name: x}}}]
`,
			want: "BrokenReference config.yaml: providers.files[0].config.metadata_store.backend\n",
		},
	})
}

func TestCheckEndsListsOfFaults(t *testing.T) {
	c := testCase{base: "providers:\n  inference:\n  - provider_id: v\n    provider_type: remote::vllm\n    config:\n      a:\n" +
		strings.Repeat("      - {backend: gone, namespace: x}\n", 200)}
	found := &problem.Collector{}
	integrity.Check(t.Context(), c.input(t), found)
	if lines := strings.Count(step.Texts(found), "there is no storage backend"); lines < 10 || lines > 100 {
		t.Errorf("%d problems", lines)
	}
}

// Proves: R32.
func TestCheckFindsSharedStorageLocations(t *testing.T) {
	provider := func(api, id, config string) string {
		return "  " + api + ": [{provider_id: " + id + ", provider_type: remote::own, config: {" + config + "}}]\n"
	}
	at := "db: {backend: kv_default, namespace: same}"
	run(t, map[string]testCase{
		"two providers of the base": {base: "providers:\n" + provider("safety", "a", at) + provider("inference", "b", at)},
		"different namespaces": {
			base: "providers:\n" + provider("safety", "a", at) + provider("inference", "b", "db: {backend: kv_default, namespace: other}"),
			spec: "providers: {inference: {provider: vllm, id: b}}",
		},
		"one provider, twice": {
			base: "providers:\n" + provider("inference", "b", at+", again: [{backend: kv_default, namespace: same}]"),
			spec: "providers: {inference: {provider: vllm, id: b}}",
		},
		"the second is of the spec": {
			base: "providers:\n" + provider("safety", "a", at) + provider("inference", "b", at), spec: "providers: {inference: {provider: vllm, id: b}}",
			want: "SharedStorageLocation spec.providers.inference\n",
		},
		"the first is of the spec": {
			base: "providers:\n" + provider("safety", "a", at) + provider("inference", "b", at), spec: "providers: {safety: {provider: vllm, id: a}}",
			want: "SharedStorageLocation spec.providers.safety\n",
		},
		"a store of the server, by a table": {
			base: "storage:\n  stores: {inference: {backend: sql_default, table_name: t}}\nproviders:\n" + provider("inference", "b", "x: {backend: sql_default, table_name: t}"),
			spec: "providers: {inference: {provider: vllm, id: b}}",
			want: "SharedStorageLocation spec.providers.inference\n",
		},
		"a provider that is off": {
			base: "providers:\n" + provider("safety", "__disabled__", at) + provider("inference", "b", at), spec: "providers: {inference: {provider: vllm, id: b}}",
		},
		"a file": {
			base: `
providers:
  inference: [{provider_id: v, provider_type: remote::vllm}]
  vector_io:
  - {provider_id: a, provider_type: inline::milvus, config: {db_path: /x}}
  - {provider_id: b, provider_type: inline::qdrant, config: {path: /x}}
  - {provider_id: c, provider_type: inline::milvus, config: {}}
  - {provider_id: d, provider_type: inline::milvus, config: {}}
`,
			spec: "providers: {vectorIo: [{provider: milvus, id: a}, {provider: milvus, id: c}, {provider: milvus, id: d}]}",
			want: "SharedStorageLocation spec.providers.vectorIo[0]\n",
		},
	})
}

func TestCheckEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := testCase{base: "registered_resources: {models: [{model_id: a, provider_id: gone}]}\n"}
	found := &problem.Collector{}
	integrity.Check(ctx, c.input(t), found)
	if got := step.Texts(found); strings.Contains(got, "gone") {
		t.Errorf("the checks went on: %s", got)
	}
}

// The fix lists the existing ids.
func TestCheckSuggestsExistingNames(t *testing.T) {
	const model = "registered_resources: {models: [{model_id: a, provider_id: gone}]}\n"
	run(t, map[string]testCase{
		"nothing": {base: model, want: broken + "registered_resources.models[0].provider_id\n"},
		"one":     {base: vllm + model, want: broken + "registered_resources.models[0].provider_id\n"},
	})
}
