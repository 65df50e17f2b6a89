// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

// defaultShield is the field under safety with the shield for requests that name none.
const defaultShield = "default_shield_id"

// defaultModels are the fields under vector_stores with the model for requests that name none.
var defaultModels = [][]string{{"rewrite_query_params", "model"}, {"contextual_retrieval_params", "model"}}

// defaultEmbedding is the field under vector_stores with the embedding model of stores that name none.
var defaultEmbedding = []string{"default_embedding_model"}

// DefaultField is a field of spec.resources.defaults that is set.
type DefaultField struct {
	// API is the API whose requests it is for.
	API  parse.ProviderAPI
	Path string
	// In reports whether a release line has such a default.
	In func(line *catalog.Line) bool
	// Unset removes the field.
	Unset func()
}

// DefaultFields returns the fields that are set, in the order of the type.
func DefaultFields(d *parse.Defaults) []DefaultField {
	var fields []DefaultField
	add := func(value *string, name string, api parse.ProviderAPI, section string, paths ...[]string) {
		if *value == "" {
			return
		}
		fields = append(fields, DefaultField{
			API: api, Path: parse.PathDefaults + "." + name,
			In: func(line *catalog.Line) bool {
				return slices.ContainsFunc(paths, func(path []string) bool { return hasField(line, section, path) })
			},
			Unset: func() { *value = "" },
		})
	}
	add(&d.Model, "model", parse.APIVectorIO, vectorStoresKey, defaultModels...)
	add(&d.EmbeddingModel, "embeddingModel", parse.APIVectorIO, vectorStoresKey, defaultEmbedding)
	add(&d.Shield, "shield", parse.APISafety, "safety", []string{defaultShield})
	return fields
}

// hasField reports whether a section of the configuration has the field at a path.
func hasField(line *catalog.Line, section string, path []string) bool {
	at, known := line.Sections[section]
	for _, name := range path {
		if !known {
			return false
		}
		at, known = line.Objects[at.Object][name]
	}
	return known
}

// withDefaultModel adds the default embedding model to the models, unless it is registered or has no provider. It
// unsets one without a dimension.
func (r *registration) withDefaultModel(models []parse.Model, d *parse.Defaults) []parse.Model {
	if d.EmbeddingModel == "" {
		return models
	}
	provider, name, qualified := strings.Cut(d.EmbeddingModel, "/")
	if _, found := r.doc.Lookup(parse.APIInference.Name, r.env.Given()).Find(provider); !qualified || !found {
		provider, name = "", d.EmbeddingModel
		if !slices.ContainsFunc(r.groups, func(g parse.ProviderGroup) bool { return g.API == parse.APIInference }) {
			return models
		}
	}
	for i := range models {
		m := &models[i]
		if m.ModelType == v1alpha2.ModelTypeEmbedding && slices.Contains([]string{m.Name, m.ProviderModelID}, name) &&
			(provider == "" || m.Provider == "" || m.Provider == provider) || m.Name == d.EmbeddingModel {
			return models
		}
	}
	inUse := r.modelAt(defaultEmbedding)
	registered := newModelIndex(ServedModels(r.doc, r.line, v1alpha2.ModelTypeEmbedding))
	if _, known := registered.find(d.EmbeddingModel); known || inUse == d.EmbeddingModel && d.EmbeddingDimension == nil {
		return models
	}
	if d.EmbeddingDimension == nil {
		d.EmbeddingModel = ""
		r.problems.Add(problem.Problem{
			Reason: problem.MissingField, Path: parse.PathDefaults + ".embeddingDimension", Type: field.ErrorTypeRequired,
			Detail: "the embedding model is not registered, and the server needs the length of its vectors",
			Fix:    "for example embeddingDimension: 768",
		})
		return models
	}
	return append(slices.Clip(models), parse.Model{
		Name: name, Provider: provider, ModelType: v1alpha2.ModelTypeEmbedding, EmbeddingDimension: d.EmbeddingDimension,
		Path: parse.PathDefaults,
	})
}

// applyDefaults writes the defaults to the fields of the release line.
func (r *registration) applyDefaults(d *parse.Defaults) {
	wanted := *d
	for _, f := range DefaultFields(&wanted) {
		if _, ok := r.line.APIs[f.API.Name]; !ok {
			r.problems.Add(release.MissingAPI(r.line, f.API.Name, f.Path))
			f.Unset()
		} else if !f.In(r.line) {
			r.problems.Add(problem.Problem{
				Reason: problem.UnsupportedByRelease, Path: f.Path, Type: field.ErrorTypeForbidden,
				Detail: "a server of release line " + r.line.Name + " has no such default",
				Fix:    "remove it" + release.OtherLines(f.In),
			})
			f.Unset()
		}
	}
	if wanted.EmbeddingModel != "" {
		r.defaultModel(v1alpha2.ModelTypeEmbedding, &wanted, wanted.EmbeddingModel, "embeddingModel", defaultEmbedding)
	}
	if wanted.Model != "" {
		r.defaultModel(v1alpha2.ModelTypeLLM, &wanted, wanted.Model, "model", defaultModels...)
	}
	if wanted.Shield != "" {
		r.defaultShield(wanted.Shield)
	}
}

// defaultModel writes a registered model to those paths under vector_stores that the release line has.
func (r *registration) defaultModel(modelType v1alpha2.ModelType, d *parse.Defaults, name, fieldName string,
	paths ...[]string) {
	search := &storeResolver{
		registration: r, inference: r.doc.Lookup(parse.APIInference.Name, r.env.Given()),
		models: newModelIndex(ServedModels(r.doc, r.line, modelType)),
	}
	at := parse.PathDefaults + "." + fieldName
	section := document.Ensure(r.doc.Root(), vectorStoresKey, yaml.MappingNode)
	if r.modelAt(paths[0]) == name {
		return // the base has it, perhaps of a provider that lists its own models
	}
	model, ok := search.model(name, at, modelType)
	if !ok || modelType == v1alpha2.ModelTypeEmbedding && !r.hasDimension(model, d.EmbeddingDimension) {
		return
	}
	provider := document.IdentityOf(document.Child(model.entry, "provider_id")).ID
	id, prefixed := strings.CutPrefix(model.Served, provider+"/")
	if !prefixed {
		r.problems.Add(problem.Problem{
			Reason: problem.BrokenReference, Path: at, Type: field.ErrorTypeInvalid, Value: name,
			Detail: "is served as " + model.Served + " without the id of a provider, and the server needs one here",
			Fix:    "register the model with the id of its provider, and name that one",
		})
		return
	}
	for _, path := range paths {
		if !hasField(r.line, vectorStoresKey, path) {
			continue
		}
		holder := section
		for _, step := range path[:len(path)-1] {
			holder = document.Ensure(holder, step, yaml.MappingNode)
		}
		reference := &yaml.Node{Kind: yaml.MappingNode}
		document.Set(reference, "provider_id", document.String(provider))
		document.Set(reference, "model_id", document.String(id))
		document.Set(holder, path[len(path)-1], reference)
	}
	r.uses = append(r.uses, Use{API: parse.APIInference.Name, ID: provider, Path: at})
}

// modelAt returns the model in a field under vector_stores, as <provider_id>/<model_id>.
func (r *registration) modelAt(path []string) string {
	n := document.Descend(r.doc.Section(vectorStoresKey), path)
	return document.Text(document.Child(n, "provider_id")) + "/" + document.Text(document.Child(n, "model_id"))
}

// hasDimension reports a dimension that differs from that of the registered model.
func (r *registration) hasDimension(model ServedModel, dimension *int64) bool {
	text := document.Text(document.Child(document.Child(model.entry, "metadata"), EmbeddingDimensionKey))
	length, err := strconv.ParseInt(text, 10, 64)
	if dimension == nil || err != nil || length == *dimension {
		return true
	}
	r.problems.Add(problem.Problem{
		Reason: problem.ConflictingFields, Path: parse.PathDefaults + ".embeddingDimension", Type: field.ErrorTypeInvalid,
		Value:  *dimension,
		Detail: fmt.Sprintf("differs from %s, which has vectors of length %d", model.Served, length),
		Fix:    "remove it, or use the same value",
	})
	return false
}

// defaultShield writes a registered shield.
func (r *registration) defaultShield(id string) {
	var ids []string
	for _, entry := range document.Items(r.doc.Registered("shields")) {
		ids = append(ids, document.Text(document.Child(entry, "shield_id")))
	}
	if !slices.Contains(ids, id) {
		fix := "register it under spec.resources.shields"
		if len(ids) > 0 {
			fix += ", or name one of " + strings.Join(ids, ", ")
		}
		r.problems.Add(problem.Problem{
			Reason: problem.BrokenReference, Path: parse.PathDefaults + ".shield", Type: field.ErrorTypeNotFound, Value: id,
			Detail: "is not a registered shield", Fix: fix,
		})
		return
	}
	document.Set(document.Ensure(r.doc.Root(), "safety", yaml.MappingNode), defaultShield, document.String(id))
}
