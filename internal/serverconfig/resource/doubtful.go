// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

// warnModel warns of a model whose name or type is probably not what the author means. entry is the registered model.
func (r *registration) warnModel(m *parse.Model, provider document.Identity, entry *yaml.Node) {
	if m.ModelType == "" && ModelTypeOf(entry) == v1alpha2.ModelTypeLLM {
		r.warnModelType(m)
	}
	switch {
	case m.ProviderModelID != "":
		r.warnAlias(m, provider)
	case m.Provider == "" || strings.HasPrefix(m.Name, provider.ID+"/"):
		r.warnPrefix(m, provider)
	}
}

func (r *registration) warn(reason problem.Reason, path, detail, fix string) {
	r.problems.Add(problem.Problem{Reason: reason, Severity: problem.Warning, Path: path, Detail: detail, Fix: fix})
}

// warnModelType warns of a model without a type that has the name of an embedding or rerank model.
func (r *registration) warnModelType(m *parse.Model) {
	path := m.Path + ".modelType"
	switch likelyType(m.Name, m.ProviderModelID) {
	case v1alpha2.ModelTypeEmbedding:
		fix := "write modelType: embedding and embeddingDimension: <length of its vectors>"
		if m.EmbeddingDimension != nil {
			fix = "write modelType: embedding"
		}
		r.warn(problem.MissingField, path, "is absent, so the model is registered as an llm, and the server does not embed "+
			"with it; but its name is that of an embedding model",
			fix+" beside its name, or modelType: llm to confirm")
	case v1alpha2.ModelTypeRerank:
		if HasModelType(r.line, v1alpha2.ModelTypeRerank) {
			r.warn(problem.MissingField, path, "is absent, so the model is registered as an llm; but its name is that of a "+
				"rerank model",
				"write modelType: rerank beside its name, or modelType: llm to confirm")
		}
	case v1alpha2.ModelTypeLLM:
	}
}

var betweenWords = regexp.MustCompile(`[^a-z0-9]+`)

// likelyType returns the type that the names of a model suggest. Publishers of embedding models have other models too,
// so only two organizations count.
func likelyType(names ...string) v1alpha2.ModelType {
	likely := v1alpha2.ModelTypeLLM
	for _, name := range names {
		name = strings.ToLower(name)
		if strings.Contains(name, "cross-encoder/") || strings.Contains(name, "ms-marco") {
			return v1alpha2.ModelTypeRerank
		}
		if strings.Contains(name, "sentence-transformers/") {
			likely = v1alpha2.ModelTypeEmbedding
		}
		for _, word := range betweenWords.Split(name[strings.LastIndex(name, "/")+1:], -1) {
			switch {
			case strings.HasPrefix(word, "rerank"):
				return v1alpha2.ModelTypeRerank
			case slices.Contains([]string{"e5", "gte", "nomic", "mpnet"}, word), strings.HasPrefix(word, "bge"),
				strings.HasPrefix(word, "embed") && word != "embedded", strings.HasSuffix(word, "minilm"):
				likely = v1alpha2.ModelTypeEmbedding
			}
		}
	}
	return likely
}

// warnAlias warns of a name that clients cannot use, because the release line serves the model by the backend's name.
func (r *registration) warnAlias(m *parse.Model, provider document.Identity) {
	if r.line.ServesModelID || m.ProviderModelID == m.Name || r.named[m.Name] || looksLikeGuard(m.Name) ||
		document.HasReference(m.Name+m.ProviderModelID) {
		return
	}
	served := ServedName(r.line, provider.ID, m.Name, m.ProviderModelID)
	r.warn(problem.NoEffect, m.Path, fmt.Sprintf("clients cannot use the name %s: a server of release line %s serves the "+
		"model as %s", m.Name, r.line.Name, served),
		"let clients use that name"+release.OtherLines(func(line *catalog.Line) bool { return line.ServesModelID }))
}

// publishers are ids of providers with which names of models begin at the providers themselves, too.
var publishers = []string{
	"anthropic", "cerebras", "cohere", "databricks", "google", "groq", "meta", "microsoft", "mistralai", "nvidia",
	"openai", "qwen",
}

// warnPrefix warns of a name that begins with the id of its provider, or of another provider of the spec.
func (r *registration) warnPrefix(m *parse.Model, provider document.Identity) {
	id, name, found := strings.Cut(m.Name, "/")
	if !found || name == "" || slices.Contains(publishers, id) {
		return
	}
	served := ServedName(r.line, provider.ID, m.Name, "")
	detail := fmt.Sprintf("begins with the id of the provider %s: clients must ask for %s, and the server asks the "+
		"provider %s for %s", id, served, provider.ID, m.Name)
	switch {
	case id == provider.ID:
		r.warn(problem.NoEffect, m.Path, detail, fmt.Sprintf("name it %s, which clients use as %s; or write {name: %s, "+
			"providerModelId: %s} if the provider itself calls it so", name, ServedName(r.line, id, name, ""), m.Name, m.Name))
	case parse.Find(r.groups, parse.APIInference.Name, id) != nil:
		r.warn(problem.NoEffect, m.Path, detail, fmt.Sprintf("write {name: %s, provider: %s}; or {name: %s, provider: %s} "+
			"to confirm", name, id, m.Name, provider.ID))
	}
}

// namesInUse returns the names of models that the shields and vector stores of a spec refer to.
func namesInUse(in *Input) map[string]bool {
	names := map[string]bool{}
	for i := range in.Shields {
		names[in.Shields[i].Model] = true
	}
	for i := range in.VectorStores {
		names[in.VectorStores[i].EmbeddingModel] = true
	}
	names[in.Defaults.Model], names[in.Defaults.EmbeddingModel] = true, true
	return names
}
