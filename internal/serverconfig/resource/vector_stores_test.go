// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

// Proves: R84.
func TestApplyRegistersVectorStores(t *testing.T) {
	const (
		inference = "providers:\n  inference: [{provider_id: v, provider_type: remote::vllm}, {provider_id: '${env.C:+c}', provider_type: remote::vllm}]\n"
		models    = "registered_resources:\n  models: [{model_id: m, provider_id: v, model_type: embedding, metadata: {embedding_dimension: 4}}]\n"
		one       = inference + "  vector_io: [{provider_id: f, provider_type: inline::faiss}]\n"
		two       = inference + "  vector_io: [{provider_id: f, provider_type: inline::faiss}, {provider_id: g, provider_type: inline::faiss}, " +
			"{provider_id: '${env.H:+h}', provider_type: inline::faiss}]\n"
		path = "spec.resources.vectorStores[0]"
	)
	spec := func(item string) string { return "resources: {vectorStores: [" + item + "]}" }
	stores := func(provider, model, dimension string) string {
		return "[{vector_store_id: s, provider_id: " + provider + ", embedding_model: " + model + ", embedding_dimension: " + dimension + "}]"
	}
	registered := func(list string) string {
		return "{models: [{model_id: m, provider_id: v, model_type: embedding, metadata: {embedding_dimension: 4}}], vector_stores: " + list + "}"
	}
	uses := func(id string) string {
		return "vector_io/" + id + " " + path + "\ninference/v " + path + ".embeddingModel\n"
	}
	plain := spec("{name: s, embeddingModel: m}")
	run(t, "registered_resources", map[string]testCase{
		"the only provider of the base": {base: one + models, spec: plain, want: registered(stores("f", "v/m", "4")), uses: uses("f")},
		"the base's default provider": {
			base: two + models + "vector_stores: {default_provider_id: g}\n", spec: plain, want: registered(stores("g", "v/m", "4")), uses: uses("g"),
		},
		"the first provider of the spec": {
			base: two + models, spec: "{providers: {vectorIo: [{id: g, provider: faiss}, {id: f, provider: faiss}]}, resources: {vectorStores: [{name: s, embeddingModel: m}]}}",
			want: registered(stores("g", "v/m", "4")), uses: uses("g"),
		},
		"a provider by name": {
			base: two + models, spec: spec("{name: s, provider: g, embeddingModel: v/m, embeddingDimension: 4}"), want: registered(stores("g", "v/m", "4")), uses: uses("g"),
		},
		"over one of the base": {
			base: two + models + "  vector_stores: [{vector_store_id: s, provider_id: g, embedding_model: x, embedding_dimension: 1, vector_store_name: n}]\n", spec: plain,
			want: registered("[{vector_store_id: s, provider_id: g, embedding_model: v/m, embedding_dimension: 4, vector_store_name: n}]"), uses: uses("g"),
		},
		"beside one of the base": {
			base: one + models + "  vector_stores: [{vector_store_id: t, provider_id: f}]\n", spec: spec("{name: s, embeddingModel: m, providerVectorStoreId: p}"),
			want: registered("[{vector_store_id: t, provider_id: f}, " +
				"{vector_store_id: s, provider_id: f, embedding_model: v/m, embedding_dimension: 4, provider_vector_store_id: p}]"), uses: uses("f"),
		},
		"a dimension that the environment has": {
			base: one + "registered_resources:\n  models: [{model_id: m, provider_id: v, model_type: embedding, metadata: {embedding_dimension: '${env.D:=4}'}}]\n", spec: plain,
			want: "{models: [{model_id: m, provider_id: v, model_type: embedding, metadata: {embedding_dimension: '${env.D:=4}'}}], vector_stores: " +
				stores("f", "v/m", "'${env.D:=4}'") + "}",
			uses: uses("f"),
		},
		"several providers, none the default": {
			base: two + models, spec: plain, want: registered("[]"),
			problems: "MissingField spec.resources.vectorStores[0].provider\n",
		},
		"an unknown provider": {
			base: two + models, spec: spec("{name: s, provider: gone, embeddingModel: m}"), want: registered("[]"),
			problems: "UnknownProvider spec.resources.vectorStores[0].provider\n",
		},
		"a conditional provider": {
			base: two + models, spec: spec("{name: s, provider: h, embeddingModel: m}"), want: registered("[]"),
			problems: "ProviderNotEnabled spec.resources.vectorStores[0].provider\n",
		},
		"a conditional provider that is on": {
			base: two + models, spec: spec("{name: s, provider: h, embeddingModel: m}") + "\nworkload: {overrides: {env: [{name: H, value: x}]}}",
			want: registered(stores("'${env.H:+h}'", "v/m", "4")), uses: uses("h"),
		},
		"an unregistered model": {
			base: one + models, spec: spec("{name: s, embeddingModel: gone}"), want: registered("[]"),
			problems: "BrokenReference spec.resources.vectorStores[0].embeddingModel\n",
		},
		"another dimension than the model's": {
			base: one + models, spec: spec("{name: s, embeddingModel: m, embeddingDimension: 5}"), want: registered("[]"),
			problems: "ConflictingFields spec.resources.vectorStores[0].embeddingDimension\n",
		},
	})
	const llm = "registered_resources: {models: [{model_id: m, provider_id: v}]}\n"
	const conditional = "registered_resources: {models: [{model_id: m, provider_id: '${env.C:+c}', model_type: embedding, metadata: {embedding_dimension: 4}}]}\n"
	const vague = "registered_resources: {models: [{model_id: m, provider_id: v, model_type: embedding}]}\n"
	const twice = "registered_resources: {models: [{model_id: m, provider_id: v, model_type: embedding}, {model_id: m, provider_id: f, model_type: embedding}]}\n"
	for name, c := range map[string]testCase{
		"a model of another type": {base: one + llm, problems: "BrokenReference spec.resources.vectorStores[0].embeddingModel\n"},
		"a model of a conditional provider": {
			base: one + conditional, problems: "ProviderNotEnabled spec.resources.vectorStores[0].embeddingModel\n",
		},
		"no dimension at all": {
			base: one + vague, problems: "MissingField spec.resources.vectorStores[0].embeddingDimension\n",
		},
		"a model of several providers": {
			base: one + twice, problems: "BrokenReference spec.resources.vectorStores[0].embeddingModel\n",
		},
		"a release line that registers none": {
			line: "0.3", base: one + llm, problems: "UnsupportedByRelease spec.resources.vectorStores\n",
		},
	} {
		c.spec, c.want = plain, absent
		run(t, "vector_stores", map[string]testCase{name: c})
	}
}

// Proves: R84.
func TestVectorStoresListExistingEmbeddingModels(t *testing.T) {
	const (
		base = "providers:\n  inference: [{provider_id: v, provider_type: remote::vllm}, {provider_id: w, provider_type: remote::vllm}]\n" +
			"  vector_io: [{provider_id: f, provider_type: inline::faiss}]\n"
		one   = "registered_resources: {models: [{model_id: m, provider_id: v, model_type: embedding}]}\n"
		twice = "registered_resources: {models: [{model_id: m, provider_id: v, model_type: embedding}, {model_id: m, provider_id: w, model_type: embedding}]}\n"
	)
	for name, c := range map[string]struct{ base, model string }{"none": {base, "gone"}, "one": {base + one, "gone"}, "two": {base + twice, "m"}} {
		found := &problem.Collector{}
		(&testCase{base: c.base, spec: "resources: {vectorStores: [{name: s, embeddingModel: " + c.model + "}]}"}).apply(t.Context(), t, found)
		step.Problems(t, name, found, "BrokenReference spec.resources.vectorStores[0].embeddingModel\n")
	}
}

// Proves: R84, R49.
func TestVectorStoresFollowTheNamesOfTheReleaseLine(t *testing.T) {
	const base = `
providers:
  inference: [{provider_id: v, provider_type: remote::vllm}]
  vector_io: [{provider_id: f, provider_type: inline::faiss}]
registered_resources:
  models: [{model_id: m, provider_id: v, provider_model_id: org/m, model_type: embedding, metadata: {embedding_dimension: 4}}]
`
	for line, served := range map[string]string{"0.4": "v/org/m", "0.7": "v/org/m", "0.8": "v/m", "1.4": "v/m"} {
		run(t, "registered_resources", map[string]testCase{line: {
			line: line, base: base, spec: "resources: {vectorStores: [{name: s, embeddingModel: m}]}",
			want: "{models: [{model_id: m, provider_id: v, provider_model_id: org/m, model_type: embedding, metadata: {embedding_dimension: 4}}], " +
				"vector_stores: [{vector_store_id: s, provider_id: f, embedding_model: " + served + ", embedding_dimension: 4}]}",
			uses: "vector_io/f spec.resources.vectorStores[0]\ninference/v spec.resources.vectorStores[0].embeddingModel\n",
		}})
	}
}
