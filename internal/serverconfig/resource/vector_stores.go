// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

// The list of registered vector stores, and keys of its entries.
const (
	vectorStoresKey    = ListVectorStores
	vectorStoreIDKey   = "vector_store_id"
	storedDimensionKey = "embedding_dimension"
)

const pathVectorStores = "spec.resources.vectorStores"

// applyVectorStores registers the vector stores of the spec over those of the base with the same id.
func (r *registration) applyVectorStores(stores []parse.VectorStore) {
	if len(stores) == 0 {
		return
	}
	registers := func(line *catalog.Line) bool { return line.RegistersVectorStores }
	if !registers(r.line) {
		otherLines := release.OtherLines(registers)
		if later := release.LaterPatch(r.line, registers); later != "" {
			otherLines = ", or " + later
		}
		r.problems.Add(problem.Problem{
			Reason: problem.UnsupportedByRelease, Path: pathVectorStores, Type: field.ErrorTypeForbidden,
			Detail: "a server of " + r.line.Without(registers) + " does not support registered vector stores",
			Fix:    "remove it" + otherLines,
		})
		return
	}
	api := parse.APIVectorIO.Name
	r.doc.EnableAPI(api)
	list := r.doc.EnsureRegistered(vectorStoresKey)
	search := &storeResolver{
		registration: r, vectorIO: r.doc.Lookup(api, r.env.Given()),
		inference: r.doc.Lookup(parse.APIInference.Name, r.env.Given()),
		models:    newModelIndex(ServedModels(r.doc, r.line, v1alpha2.ModelTypeEmbedding)),
	}
	entries := indexByID(list, vectorStoreIDKey)
	for i := range stores {
		if r.ctx.Err() != nil {
			return
		}
		s := &stores[i]
		entry, exists := entries[s.Name]
		if !exists {
			entry = &yaml.Node{Kind: yaml.MappingNode}
		}
		provider, ok := search.provider(s, entry)
		model, found := search.model(s.EmbeddingModel, s.Path+".embeddingModel", v1alpha2.ModelTypeEmbedding)
		if !ok || !found || !search.overlay(entry, s, provider, model) {
			continue
		}
		if !exists {
			list.Content = append(list.Content, entry)
		}
		r.register(ListVectorStores, s.Name)
		r.uses = append(r.uses, Use{API: api, ID: provider.ID, Path: s.Path})
		if server := document.IdentityOf(document.Child(model.entry, "provider_id")); server.ID != AllProviders {
			r.uses = append(r.uses, Use{API: parse.APIInference.Name, ID: server.ID, Path: s.Path + ".embeddingModel"})
		}
	}
}

// storeResolver looks up providers and models, which do not change while vector stores are applied.
type storeResolver struct {
	*registration
	vectorIO, inference *document.ProviderSet
	// models are the registered embedding models.
	models *modelIndex
}

// provider returns the provider of a vector store: the named one, the first vectorIo provider of the spec, that of the
// base's vector store with this id, the base's default, or the base's only enabled one.
func (s *storeResolver) provider(store *parse.VectorStore, entry *yaml.Node) (document.Identity, bool) {
	if store.Provider != "" {
		provider, ok := s.namedProvider(parse.APIVectorIO, s.vectorIO, store.Provider, store.Path)
		// An error, because the server would start without the vector store.
		return provider, ok && s.checkEnabled(parse.APIVectorIO, provider, store.Path+".provider", "is")
	}
	for _, group := range s.groups {
		if group.API == parse.APIVectorIO {
			return s.vectorIO.First(group.Providers[0].EffectiveID())
		}
	}
	enabled := s.vectorIO.Enabled
	for _, ref := range []*yaml.Node{document.Child(entry, "provider_id"),
		document.Child(s.doc.Section(vectorStoresKey), "default_provider_id")} {
		if provider, ok := document.FindIdentity(enabled, document.IdentityOf(ref).ID); ok {
			return provider, true
		}
	}
	if len(enabled) == 1 {
		return enabled[0], true
	}
	if !s.problems.Full(problem.Error) {
		s.problems.Add(problem.Problem{
			Reason: problem.MissingField, Path: store.Path + ".provider", Type: field.ErrorTypeRequired,
			Detail: "the spec configures no vectorIo provider, and the base does not have exactly one that is unconditionally " +
				"enabled",
			Fix: "name one of " + s.vectorIO.Names() + ", or configure spec.providers.vectorIo",
		})
	}
	return document.Identity{}, false
}

// checkEnabled reports whether a provider needs no variable to be enabled, and adds a problem otherwise.
func (s *storeResolver) checkEnabled(api parse.ProviderAPI, provider document.Identity, path, prefix string) bool {
	variable := s.env.Given().MissingSwitch(provider)
	if variable == "" {
		return true
	}
	s.problems.Add(problem.Problem{
		Reason: problem.ProviderNotEnabled, Path: path, Type: field.ErrorTypeInvalid, Value: provider.ID,
		Detail: prefix + " enabled only if the environment variable " + variable + " is set",
		Fix:    enableFix(api, provider, variable),
	})
	return false
}

// model returns the model with a name, which must be registered for the server to start.
func (s *storeResolver) model(name, path string, modelType v1alpha2.ModelType) (ServedModel, bool) {
	model, ok := s.models.find(name)
	if ok {
		server, there := s.inference.Find(document.IdentityOf(document.Child(model.entry, "provider_id")).ID)
		return model, !there || s.checkEnabled(parse.APIInference, server, path, "is a model of a provider that is")
	}
	if s.problems.Full(problem.Error) || name == "" {
		return model, false // an absent one is already reported
	}
	kind, fix := "embedding model", "register it under spec.resources.models with modelType: embedding"
	if modelType == v1alpha2.ModelTypeLLM {
		kind, fix = "model", "register it under spec.resources.models"
	}
	p := problem.Problem{
		Reason: problem.BrokenReference, Path: path, Type: field.ErrorTypeNotFound, Value: name,
		Detail: "is not a registered " + kind, Fix: fix,
	}
	if named := s.models.named[name]; len(named) > 1 {
		p.Detail = "is the name of several registered " + kind + "s"
		p.Fix = "use a served name: " + servedNames(named)
	} else if len(s.models.all) > 0 {
		p.Fix += ", or name one of " + servedNames(s.models.all)
	}
	s.problems.Add(p)
	return model, false
}

// overlay writes a vector store to its entry, unless the vector length is unknown or differs from the model's.
func (s *storeResolver) overlay(entry *yaml.Node, store *parse.VectorStore, provider document.Identity,
	model ServedModel) bool {
	modelDimension := document.Child(document.Child(model.entry, "metadata"), EmbeddingDimensionKey)
	path := store.Path + ".embeddingDimension"
	dimension := modelDimension
	if specified := store.EmbeddingDimension; specified != nil {
		dimension = document.Int(*specified)
		if length, err := strconv.ParseInt(document.Text(modelDimension), 10, 64); err == nil && length != *specified {
			s.problems.Add(problem.Problem{
				Reason: problem.ConflictingFields, Path: path, Type: field.ErrorTypeInvalid, Value: *specified,
				Detail: fmt.Sprintf("differs from %s, which has vectors of length %d", model.Served, length), Fix: "remove it, " +
					"or use the same value",
			})
			return false
		}
	}
	if document.Text(dimension) == "" {
		s.problems.Add(problem.Problem{
			Reason: problem.MissingField, Path: path, Type: field.ErrorTypeRequired,
			Detail: "the model " + model.Served + " is registered without a vector length", Fix: "for example " +
				"embeddingDimension: 768",
		})
		return false
	}
	document.Set(entry, vectorStoreIDKey, document.String(store.Name))
	document.Set(entry, "provider_id", document.String(provider.Raw))
	document.Set(entry, "embedding_model", document.String(model.Served))
	copied := *dimension
	document.Set(entry, storedDimensionKey, &copied)
	if store.ProviderVectorStoreID != "" {
		document.Set(entry, "provider_vector_store_id", document.String(store.ProviderVectorStoreID))
	}
	return true
}
