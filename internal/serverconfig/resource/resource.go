// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// Input is the input of Apply. Only the lists are optional.
type Input struct {
	// Document is the configuration with the providers of the spec.
	Document     *document.Document
	Line         *catalog.Line
	Environment  *environment.Set
	Providers    []parse.ProviderGroup
	Models       []parse.Model
	Shields      []parse.Shield
	VectorStores []parse.VectorStore
	Tools        []parse.Tool
	Defaults     parse.Defaults
}

// Use is a provider that a resource of the spec uses.
type Use struct {
	// API and ID are the server's names of the API and the provider.
	API, ID string
	Path    string
}

// The server's lists of resources, by their names in the catalog.
const (
	ListModels       = "models"
	ListVectorStores = "vector_stores"
	ListToolGroups   = "tool_groups"
	ListConnectors   = "connectors"
)

// Registered is a registered resource of the spec: the server's list and the name in it.
type Registered struct{ List, Name string }

// Apply registers the resources of the spec. It returns the providers in use and the listed resources in spec order,
// and stops when the context ends.
func Apply(ctx context.Context, in *Input, problems *problem.Collector) ([]Use, []Registered) {
	r := &registration{
		ctx: ctx, doc: in.Document, line: in.Line, env: in.Environment, groups: in.Providers, problems: problems,
		named: namesInUse(in),
	}
	r.applyModels(r.withDefaultModel(in.Models, &in.Defaults))
	r.applyShields(in.Shields)
	r.applyDefaults(&in.Defaults)
	r.applyVectorStores(in.VectorStores)
	tools := &toolStep{registration: r}
	tools.apply(in.Tools)
	return r.uses, r.registered
}

// registration is the state of Apply.
type registration struct {
	ctx      context.Context
	doc      *document.Document
	line     *catalog.Line
	env      *environment.Set
	groups   []parse.ProviderGroup
	problems *problem.Collector
	// named are the names of models that other resources of the spec refer to.
	named      map[string]bool
	uses       []Use
	registered []Registered
}

func (r *registration) register(list, name string) {
	r.registered = append(r.registered, Registered{List: list, Name: name})
}

// namedProvider returns the provider with an id, and reports an unknown one at the path of the resource.
func (r *registration) namedProvider(api parse.ProviderAPI, providers *document.ProviderSet, id,
	path string) (document.Identity, bool) {
	provider, ok := providers.Find(id)
	if !ok && !r.problems.Full(problem.Error) {
		r.problems.Add(problem.Problem{
			Reason: problem.UnknownProvider, Path: path + ".provider", Type: field.ErrorTypeNotFound, Value: id,
			Detail: "there is no " + api.Field + " provider with this id",
			Fix: providers.Nearest(id) + "configure it under spec.providers." + api.Field +
				", or name one of " + providers.Names(),
		})
	}
	return provider, ok
}

// ProviderAPIs maps each list of registered_resources to the API of its entries' providers.
var ProviderAPIs = map[string]string{
	"models":        "inference",
	"shields":       "safety",
	"vector_stores": "vector_io",
	"tool_groups":   "tool_runtime",
	"datasets":      "datasetio",
	"scoring_fns":   "scoring",
	"benchmarks":    "eval",
}

// AllProviders registers a model with every provider, if the release line supports it.
const AllProviders = "all"

// ModelReference is a field under vector_stores with the provider_id and model_id of a model.
type ModelReference struct {
	// Path is the path of the field below vector_stores.
	Path []string
	// ModelType is the required type of the model.
	ModelType v1alpha2.ModelType
}

// ModelReferences are all model references under vector_stores.
var ModelReferences = []ModelReference{
	{[]string{"default_embedding_model"}, v1alpha2.ModelTypeEmbedding},
	{[]string{"default_reranker_model"}, v1alpha2.ModelTypeRerank},
	{[]string{"rewrite_query_params", "model"}, v1alpha2.ModelTypeLLM},
	{[]string{"contextual_retrieval_params", "model"}, v1alpha2.ModelTypeLLM},
}
