// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

// Proves: R23, R25, R35, R74.
func TestDoubtfulModelsGetAWarning(t *testing.T) {
	const base = `
providers: {inference: [{provider_id: v, provider_type: remote::vllm}, {provider_id: nvidia, provider_type: remote::nvidia}, {provider_id: ollama, provider_type: remote::ollama}]}
registered_resources: {models: [{model_id: nomic-embed-text-v1.5, provider_id: v, model_type: embedding}]}
`
	const first, untyped = "Warning NoEffect " + models + "[0]\n", "Warning MissingField " + models + "[0].modelType\n"
	for name, c := range map[string]struct{ line, models, want string }{
		"a plain name":                                      {"1.5", "llama3.2-8b", ""},
		"the name of a publisher":                           {"1.5", "meta-llama/Llama-3.2-3B", ""},
		"a publisher that is a provider of the base":        {"1.5", "nvidia/llama-3.2-nv-instruct", ""},
		"a publisher that is the provider":                  {"0.7", "{name: nvidia/llama-3.2-nv-instruct, provider: nvidia}", ""},
		"another provider of the base":                      {"1.5", "ollama/llama3.2", ""},
		"the id of its provider":                            {"1.5", "v/m", first},
		"the id of its provider, 0.7":                       {"0.7", "v/m", first},
		"the id of the provider that it names":              {"1.5", "{name: ollama/m, provider: ollama}", first},
		"the id of another provider of the spec":            {"1.5", "w/m", first},
		"that id, and the provider is named":                {"1.5", "{name: w/m, provider: v}", ""},
		"the id, and the provider's name for it":            {"1.5", "{name: v/m, providerModelId: m}", ""},
		"the provider has it under that name":               {"0.7", "{name: v/m, providerModelId: v/m}", ""},
		"a name of its own":                                 {"0.8", "{name: chat, providerModelId: acme/big}", ""},
		"a name of its own that does nothing":               {"0.7", "{name: chat, providerModelId: acme/big}", first},
		"a name of its own for a vector store":              {"0.7", "{name: used, providerModelId: acme/big}", ""},
		"a guard, which a shield uses":                      {"0.7", "{name: llama-guard-3, providerModelId: meta-llama/Llama-Guard-3-8B}", ""},
		"bge":                                               {"1.5", "BAAI/bge-m3", untyped},
		"e5":                                                {"1.5", "intfloat/multilingual-e5-large", untyped},
		"nomic, with a tag":                                 {"0.7", "nomic-embed-text:latest", untyped},
		"nomic's other models":                              {"1.5", "nomic-ai/gpt4all-13b-snoozy", ""},
		"minilm":                                            {"1.5", "all-MiniLM-L6-v2", untyped},
		"OpenAI's":                                          {"1.5", "text-embedding-3-small", untyped},
		"sentence-transformers":                             {"1.5", "sentence-transformers/LaBSE", untyped},
		"the provider's name is that of an embedding model": {"1.5", "{name: search, providerModelId: BAAI/bge-m3}", untyped},
		"an embedding model with a dimension":               {"1.5", "{name: BAAI/bge-m3, embeddingDimension: 1024}", untyped},
		"an embedding model with its type":                  {"1.5", "{name: BAAI/bge-m3, modelType: embedding, embeddingDimension: 1024}", ""},
		"an llm with such a name":                           {"1.5", "{name: my-embed-helper, modelType: llm}", ""},
		"an embedding model of the base":                    {"1.5", "nomic-embed-text-v1.5", ""},
		"a reranker":                                        {"1.5", "BAAI/bge-reranker-v2-m3", untyped},
		"a reranker, where the server has no such type":     {"0.3", "BAAI/bge-reranker-v2-m3", ""},
		"words that only look like it":                      {"1.5", "tinyllama-embedded", ""},
	} {
		spec := "providers: {inference: [{id: v, provider: vllm, endpoint: 'http://v'}, {id: w, provider: vllm, endpoint: 'http://w'}]}\n" +
			"resources: {models: [" + c.models + "]}"
		if strings.Contains(c.models, "used") {
			spec = strings.Replace(spec, "resources: {", "resources: {vectorStores: [{name: s, embeddingModel: used}], ", 1)
		}
		found := &problem.Collector{}
		(&testCase{line: c.line, base: base, spec: spec}).apply(t.Context(), t, found)
		kept := &problem.Collector{}
		for _, p := range found.List() {
			if !strings.Contains(p.Path, "vectorStores") {
				kept.Add(p)
			}
		}
		step.Problems(t, name, kept, c.want)
	}
}
