// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"maps"
	"slices"
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

// Keys in a model's metadata for fields of the custom resource.
const (
	ContextLengthKey      = "context_length"
	quantizationKey       = "quantization"
	EmbeddingDimensionKey = "embedding_dimension"
)

// applyModels registers the models of the spec over those of the base with the same provider and name.
func (r *registration) applyModels(models []parse.Model) {
	deployed := map[string]bool{}
	defer r.warnDeployments(deployed)
	if len(models) == 0 {
		return
	}
	providers := r.doc.Lookup(parse.APIInference.Name, r.env.Given())
	list := r.doc.EnsureRegistered("models")
	entries := make(map[modelKey]*yaml.Node, len(list.Content)+len(models))
	for _, entry := range slices.Backward(list.Content) {
		entries[modelKey{document.Text(document.Child(entry, "model_id")),
			document.IdentityOf(document.Child(entry, "provider_id")).ID}] = entry
	}
	paths := make(map[string]string, len(models))
	for i := range models {
		if r.ctx.Err() != nil {
			return
		}
		m := &models[i]
		r.checkModelType(m)
		provider, ok := r.modelProvider(m, providers)
		if !ok {
			continue
		}
		if deployment := r.deploymentOf(provider.ID); m.ProviderModelID == "" && deployment != "" {
			withID := *m
			withID.ProviderModelID = deployment
			m, deployed[provider.ID] = &withID, true
		}
		served := ServedName(r.line, provider.ID, m.Name, m.ProviderModelID)
		if at, twice := paths[served]; twice {
			r.problems.Add(problem.Problem{
				Reason: problem.ConflictingFields, Path: m.Path, Type: field.ErrorTypeDuplicate, Value: m.Name,
				Detail: fmt.Sprintf("is served as %s, as is %s", served, at),
				Fix:    "keep one of them",
			})
			continue
		}
		paths[served] = m.Path
		// A warning only: the image may set the variable. Otherwise requests for the model fail.
		if variable := r.env.Given().MissingSwitch(provider); variable != "" {
			r.problems.Add(problem.Problem{
				Reason: problem.ProviderNotEnabled, Severity: problem.Warning, Path: m.Path + ".provider",
				Detail: "is enabled only if the environment variable " + variable + " is set; without it, the server omits the " +
					"model",
				Fix: enableFix(parse.APIInference, provider, variable),
			})
		}
		key := modelKey{m.Name, provider.ID}
		entry := entries[key]
		if entry == nil {
			entry = &yaml.Node{Kind: yaml.MappingNode}
			list.Content = append(list.Content, entry)
			entries[key] = entry
		}
		r.overlayModel(entry, m, provider)
		r.warnModel(m, provider, entry)
		r.register(ListModels, served)
		r.uses = append(r.uses, Use{API: parse.APIInference.Name, ID: provider.ID, Path: m.Path})
	}
}

// deploymentOf returns the deploymentName of a provider whose models have this name on the model server, or "".
func (r *registration) deploymentOf(id string) string {
	p := parse.Find(r.groups, parse.APIInference.Name, id)
	if p == nil || p.DeploymentName == "" {
		return ""
	}
	row, known := r.line.Provider(parse.APIInference.Name, r.line.FullType(parse.APIInference.Name, p.Type))
	if !known || !row.DeploymentIsModel {
		return ""
	}
	return p.DeploymentName
}

// warnDeployments warns of providers whose deploymentName no model uses; deployed are the ids of the others.
func (r *registration) warnDeployments(deployed map[string]bool) {
	for _, group := range r.groups {
		for i := range group.Providers {
			p := &group.Providers[i]
			if group.API == parse.APIInference && r.deploymentOf(p.EffectiveID()) != "" && !deployed[p.EffectiveID()] {
				r.warn(problem.NoEffect, p.Path+".deploymentName", "has no effect: the spec has no model of this provider without "+
					"providerModelId", "register one under spec.resources.models")
			}
		}
	}
}

// modelKey identifies a registered model by its model_id and the effective id of its provider.
type modelKey struct{ model, provider string }

// HasModelType reports whether a release line has a model type, or its types are unknown.
func HasModelType(line *catalog.Line, modelType v1alpha2.ModelType) bool {
	types := modelTypes(line)
	return modelType == "" || len(types) == 0 || slices.Contains(types, string(modelType))
}

func modelTypes(line *catalog.Line) []string {
	fields, _ := line.ResourceFields("models")
	return fields["model_type"].Values
}

// checkModelType reports a model type that the release line does not have.
func (r *registration) checkModelType(m *parse.Model) {
	if HasModelType(r.line, m.ModelType) {
		return
	}
	r.problems.Add(problem.Problem{
		Reason: problem.UnsupportedByRelease, Path: m.Path + ".modelType", Type: field.ErrorTypeNotSupported,
		Value: m.ModelType,
		Detail: fmt.Sprintf("release line %s has no models of type %s, only of %s", r.line.Name, m.ModelType,
			strings.Join(modelTypes(r.line), " and ")),
		Fix: "remove the model" + release.OtherLines(func(line *catalog.Line) bool {
			return HasModelType(line, m.ModelType)
		}),
	})
}

// modelProvider returns the provider of a model: the named one, the first inference provider of the spec, or the base's
// only unconditionally enabled one.
func (r *registration) modelProvider(m *parse.Model, providers *document.ProviderSet) (document.Identity, bool) {
	if m.Provider != "" {
		return r.namedProvider(parse.APIInference, providers, m.Provider, m.Path)
	}
	for _, group := range r.groups {
		if group.API == parse.APIInference {
			return providers.First(group.Providers[0].EffectiveID())
		}
	}
	only, several := document.Identity{}, false
	for _, id := range providers.All {
		if id.Presence == document.Unconditional {
			several = only.ID != ""
			only = id
			if several {
				break
			}
		}
	}
	if only.ID != "" && !several {
		return only, true
	}
	if r.problems.Full(problem.Error) {
		return document.Identity{}, false
	}
	r.problems.Add(problem.Problem{
		Reason: problem.MissingField, Path: m.Path, Type: field.ErrorTypeRequired,
		Detail: "the spec configures no inference provider, and the base does not have exactly one that is unconditionally " +
			"enabled",
		Fix: "write {name, provider} with one of " + providers.Names() + ", or configure spec.providers.inference",
	})
	return document.Identity{}, false
}

func (r *registration) overlayModel(entry *yaml.Node, m *parse.Model, provider document.Identity) {
	document.Set(entry, "model_id", document.String(m.Name))
	// Keep the provider's condition: the server skips the model if the provider is disabled.
	document.Set(entry, "provider_id", document.String(provider.Raw))
	if m.ProviderModelID != "" {
		document.Set(entry, "provider_model_id", document.String(m.ProviderModelID))
	}
	switch {
	case m.ModelType != "":
		document.Set(entry, "model_type", document.String(string(m.ModelType)))
	case document.Child(entry, "model_type") == nil:
		document.Set(entry, "model_type", document.String(string(v1alpha2.ModelTypeLLM)))
	}
	if metadata := r.modelMetadata(m); len(metadata) > 0 {
		document.Merge(document.Ensure(entry, "metadata", yaml.MappingNode), metadata)
	}
}

// modelMetadata returns the metadata of the spec with fields that the server has only as metadata.
func (r *registration) modelMetadata(m *parse.Model) map[string]any {
	metadata := map[string]any{}
	maps.Copy(metadata, m.Metadata)
	put := func(key, name string, value any) {
		if _, twice := metadata[key]; twice {
			r.problems.Add(problem.Problem{
				Reason: problem.ConflictingFields, Path: m.Path + ".metadata." + key, Type: field.ErrorTypeForbidden,
				Detail: fmt.Sprintf("sets %s, and so does %s.%s", key, m.Path, name),
				Fix:    "keep one of them",
			})
			return
		}
		metadata[key] = value
	}
	if m.ContextLength != nil {
		put(ContextLengthKey, "contextLength", *m.ContextLength)
	}
	if m.Quantization != "" {
		put(quantizationKey, "quantization", m.Quantization)
	}
	if m.EmbeddingDimension != nil {
		put(EmbeddingDimensionKey, "embeddingDimension", *m.EmbeddingDimension)
	}
	return metadata
}
