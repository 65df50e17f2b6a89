// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/storage"
)

// providersOf tells, for each list of registered_resources, the API whose providers its entries name.
var providersOf = map[string]string{
	"models":        "inference",
	"shields":       "safety",
	"vector_stores": "vector_io",
	"tool_groups":   "tool_runtime",
	"datasets":      "datasetio",
	"scoring_fns":   "scoring",
	"benchmarks":    "eval",
}

// allProviders is the provider of a model that is registered with every provider, on lines that know this.
const allProviders = "all"

// modelReference is a place under vector_stores that names a model by provider_id and model_id.
type modelReference struct {
	path []string
	// modelType is the type that the model must have.
	modelType v1alpha2.ModelType
}

var modelReferences = []modelReference{
	{[]string{"default_embedding_model"}, v1alpha2.ModelTypeEmbedding},
	{[]string{"default_reranker_model"}, v1alpha2.ModelTypeRerank},
	{[]string{"rewrite_query_params", "model"}, v1alpha2.ModelTypeLLM},
	{[]string{"contextual_retrieval_params", "model"}, v1alpha2.ModelTypeLLM},
}

// implicitBackends are the backends that the server makes itself where the configuration has no storage section, with their types.
var implicitBackends = map[string]string{"kv_default": storage.SQLiteType(catalog.KV), "sql_default": storage.SQLiteType(catalog.SQL)}

// checkIntegrity makes sure that everything that the configuration names is there: the server would otherwise crash
// on start, or come up without what was asked for.
func (g *generation) checkIntegrity() {
	resources := g.doc.Section("registered_resources")
	for _, name := range document.Keys(resources) {
		api, ok := providersOf[name]
		if !ok {
			continue
		}
		providers := g.doc.Lookup(api, g.env.Given())
		for i, item := range document.Items(document.Child(resources, name)) {
			if g.stopped() {
				return
			}
			if name == "models" && g.Line.AllProviders && document.Text(document.Child(item, "provider_id")) == allProviders {
				continue
			}
			g.checkProviderID(document.Child(item, "provider_id"), api, providers, func() string {
				return fmt.Sprintf("registered_resources.%s[%d].provider_id", name, i)
			})
		}
	}
	defaults := g.doc.Section("vector_stores")
	g.checkProviderID(document.Child(defaults, "default_provider_id"), "vector_io", g.doc.Lookup("vector_io", g.env.Given()),
		func() string { return "vector_stores.default_provider_id" })
	for _, ref := range modelReferences {
		g.checkModelReference(ref)
	}
	g.checkModels()
	g.checkDefaultShield()
	g.checkConnectors()
	g.checkBackends()
	g.checkAPIs()
	g.checkNeeds()
	g.checkPlaces()
}

// checkModelReference checks that a model that the vector stores use has a provider, and that it is not registered as something else.
// A model that is not registered may still be there: providers list their own.
func (g *generation) checkModelReference(ref modelReference) {
	n := document.Descend(g.doc.Section("vector_stores"), ref.path)
	path := "vector_stores." + strings.Join(ref.path, ".")
	g.checkProviderID(document.Child(n, "provider_id"), "inference", g.doc.Lookup("inference", g.env.Given()), func() string { return path + ".provider_id" })
	name := document.Text(document.Child(n, "provider_id")) + "/" + document.Text(document.Child(n, "model_id"))
	registered := func(modelType string) bool {
		return slices.ContainsFunc(g.servedModels(modelType), func(m servedModel) bool { return m.served == name })
	}
	if n == nil || registered(string(ref.modelType)) {
		return
	}
	for _, other := range []v1alpha2.ModelType{v1alpha2.ModelTypeLLM, v1alpha2.ModelTypeEmbedding, v1alpha2.ModelTypeRerank} {
		if registered(string(other)) {
			g.faulty(path, fmt.Sprintf("%s is registered as a model of type %s", name, other), "name a model of type "+string(ref.modelType))
		}
	}
}

// checkModels checks what the server demands of registered models: a dimension of the vectors, and a name of their own.
func (g *generation) checkModels() {
	first := map[string]int{}
	for i, entry := range document.Items(g.doc.Registered("models")) {
		provider := document.IdentityOf(document.Child(entry, "provider_id"))
		if provider.Presence != document.Unconditional && provider.Presence != document.Conditional {
			continue
		}
		path := fmt.Sprintf("registered_resources.models[%d]", i)
		if modelTypeOf(entry) == string(v1alpha2.ModelTypeEmbedding) && document.Child(document.Child(entry, "metadata"), embeddingDimensionKey) == nil {
			g.faulty(path+".metadata", "the embedding model has no "+embeddingDimensionKey, "give the length of its vectors")
		}
		id := document.Text(document.Child(entry, "model_id"))
		if provider.Presence == document.Conditional || id == "" || document.HasReference(id) {
			continue
		}
		served := g.servedName(provider.ID, id, document.Text(document.Child(entry, "provider_model_id")))
		if other, twice := first[served]; twice {
			g.faulty(path, fmt.Sprintf("is served as %s, and so is registered_resources.models[%d]", served, other), "keep one of them")
		}
		first[served] = i
	}
}

// checkConnectors checks that each connector has an id of its own.
func (g *generation) checkConnectors() {
	seen := map[string]bool{}
	for i, entry := range document.Items(g.doc.Section("connectors")) {
		id := document.Text(document.Child(entry, "connector_id"))
		if id != "" && seen[id] {
			g.faulty(fmt.Sprintf("connectors[%d].connector_id", i), fmt.Sprintf("there is another connector %q", id), "keep one of them")
		}
		seen[id] = true
	}
}

// checkProviderID checks one reference to a provider. An absent or empty one is skipped by the server, and one that
// the environment decides cannot be judged; a provider that may be there counts as there.
func (g *generation) checkProviderID(ref *yaml.Node, api string, providers *document.ProviderSet, path func() string) {
	name := document.IdentityOf(ref)
	if _, known := providers.Find(name.ID); name.ID == "" || known || providers.HasUnknown || g.findings.skip(Error) {
		return
	}
	g.broken(path(), fmt.Sprintf("there is no %s provider with the id %q", api, name.ID), document.EffectiveIDs(providers.All))
}

// checkDefaultShield checks the default shield as the server does: only where any shield is registered. One that the environment turns
// on is not enough where another one is always there.
func (g *generation) checkDefaultShield() {
	name := document.Text(document.Child(g.doc.Section("safety"), "default_shield_id"))
	if name == "" || document.HasReference(name) {
		return
	}
	var others []string
	listed, otherIsThere := false, false
	for _, shield := range document.Items(g.doc.Registered("shields")) {
		id, provider := document.Text(document.Child(shield, "shield_id")), document.IdentityOf(document.Child(shield, "provider_id"))
		there := g.env.Given().Enables(provider)
		switch {
		case provider.Presence == document.Disabled:
		case document.HasReference(id) || (id == name && there):
			return
		case id == name:
			listed = true
		default:
			others = append(others, id)
			otherIsThere = otherIsThere || there
		}
	}
	if len(others) > 0 && (!listed || otherIsThere) {
		message := fmt.Sprintf("there is no shield %q", name)
		if listed {
			message = fmt.Sprintf("the shield %q is not always there, and another one is", name)
		}
		g.broken("safety.default_shield_id", message, others)
	}
}

// checkBackends checks that every storage backend that is named is there, and is of the kind that it is needed for.
func (g *generation) checkBackends() {
	search := backendSearch{types: implicitBackends, objects: g.Line.Objects}
	if backends := g.doc.Backends(); backends != nil {
		search.types = map[string]string{}
		for name, backend := range document.Members(backends) {
			search.types[name] = document.Text(document.Child(backend, "type"))
		}
	}
	for name, store := range document.Members(g.doc.Stores()) {
		known := g.Line.Stores[name]
		for _, b := range search.broken(store, catalog.Field{Store: known.Kind, Object: known.Object}) {
			g.broken("storage.stores."+name+b.path+".backend", b.message, b.instead)
		}
	}
	for entry := range g.doc.Providers() {
		if entry.Identity().Raw == document.DisabledID {
			continue
		}
		row, ok := g.Line.Provider(entry.API, entry.Type())
		if !ok {
			row = &catalog.Provider{}
		}
		for name, value := range document.Members(entry.Config()) {
			for _, b := range search.broken(value, row.Fields[name]) {
				g.broken(entry.Path()+".config."+name+b.path+".backend", b.message, b.instead)
			}
		}
	}
}

// backendSearch searches trees for references to storage backends that are not there or of the wrong kind.
type backendSearch struct {
	// types are the types of the backends that there are.
	types   map[string]string
	objects map[string]map[string]catalog.Field
}

// brokenBackend is a reference to a storage backend that cannot work; its path begins at the tree that was searched.
type brokenBackend struct {
	path, message string
	// instead are the backends that could be named.
	instead []string
}

// broken searches a tree: the value of a field, of which little may be known. References are maps with a backend and a namespace or table
// in it. A lone "backend" can be any option of a provider. Paths are put together only where something is wrong.
func (s *backendSearch) broken(n *yaml.Node, field catalog.Field) []brokenBackend {
	var broken []brokenBackend
	add := func(at func() string, inner []brokenBackend) {
		for _, b := range inner {
			if len(broken) > bounds.Problems {
				return // more are not shown
			}
			b.path = bounds.Join(at(), b.path)
			broken = append(broken, b)
		}
	}
	for i, item := range document.Items(n) {
		add(func() string { return fmt.Sprintf("[%d]", i) }, s.broken(item, catalog.Field{Object: field.Object}))
	}
	for key, value := range document.Members(n) {
		add(func() string { return "." + key }, s.broken(value, s.objects[field.Object][key]))
	}
	if message, instead := s.judge(n, field.Store); message != "" {
		broken = append(broken, brokenBackend{message: message, instead: instead})
	}
	return broken
}

// judge tells what is wrong with one reference, and which backends would do. The kind is that of the backend that is needed; where nothing
// tells it, a namespace stands for one and a table for the other.
func (s *backendSearch) judge(n *yaml.Node, kind catalog.StoreKind) (message string, instead []string) {
	name := document.Text(document.Child(n, "backend"))
	namespace, table := document.Child(n, catalog.KV.Place()) != nil, document.Child(n, catalog.SQL.Place()) != nil
	if name == "" || document.HasReference(name) || (!namespace && !table) {
		return "", nil
	}
	switch {
	case kind != "" || namespace && table:
	case namespace:
		kind = catalog.KV
	default:
		kind = catalog.SQL
	}
	if backendType, ok := s.types[name]; ok && isOfKind(backendType, kind) {
		return "", nil
	}
	for _, other := range slices.Sorted(maps.Keys(s.types)) {
		if isOfKind(s.types[other], kind) {
			instead = append(instead, other)
		}
	}
	if backendType, ok := s.types[name]; ok {
		return fmt.Sprintf("the storage backend %q is %s, and one of type %s_… is needed", name, backendType, kind), instead
	}
	return fmt.Sprintf("there is no storage backend %q", name), instead
}

// isOfKind tells whether a type of backends is of a kind, or may be: it is absent, which the server reports, or the environment gives it.
func isOfKind(backendType string, kind catalog.StoreKind) bool {
	return kind == "" || backendType == "" || strings.HasPrefix(backendType, string(kind)+"_") || document.HasReference(backendType)
}

// broken reports a reference to what is not there; known is what is.
func (g *generation) broken(path, message string, known []string) {
	mending := "there is none at all"
	if len(known) > 0 {
		mending = "name one of " + bounds.Names(known)
	}
	g.findings.fail(BrokenReference, "config.yaml: "+path, message,
		mending+"; the reference comes from the base configuration "+g.Base.Name()+" or from settings of a provider")
}

// faulty reports what else makes the configuration contradict itself.
func (g *generation) faulty(path, message, mending string) {
	g.findings.fail(BrokenReference, "config.yaml: "+path, message, mending+"; it comes from the base configuration "+g.Base.Name())
}
