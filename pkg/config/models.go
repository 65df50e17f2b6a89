// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
)

// The keys under which a model's metadata carries what the resource has fields for.
const (
	contextLengthKey      = "context_length"
	quantizationKey       = "quantization"
	embeddingDimensionKey = "embedding_dimension"
)

// applyModels registers the models of the resource: over those of the base with the same provider and name, else
// after them.
func (g *generation) applyModels() {
	if len(g.models) == 0 {
		return
	}
	providers := g.doc.Lookup(v1alpha2.APIInference.Name, g.env.Given())
	list := g.doc.EnsureRegistered("models")
	entries := make(map[modelKey]*yaml.Node, len(list.Content)+len(g.models))
	for _, entry := range slices.Backward(list.Content) {
		entries[modelKey{document.Text(document.Child(entry, "model_id")), document.IdentityOf(document.Child(entry, "provider_id")).ID}] = entry
	}
	paths := make(map[string]string, len(g.models))
	for i := range g.models {
		if g.stopped() {
			return
		}
		m := &g.models[i]
		g.checkModelType(m)
		provider, ok := g.modelProvider(m, providers)
		if !ok {
			continue
		}
		served := g.servedName(provider.ID, m.Name, m.ProviderModelID)
		if at, twice := paths[served]; twice {
			g.findings.fail(Conflict, m.Path, fmt.Sprintf("is served as %s, and so is %s", served, at), "keep one of them")
			continue
		}
		paths[served] = m.Path
		// No error: the image may set the variable. And where it does not, who asks for the model hears that it is not there.
		if variable := g.env.Given().MissingSwitch(provider); variable != "" {
			g.findings.warn(NoProvider, m.Path+".provider", fmt.Sprintf("is there only where the environment variable %s is set; "+
				"without it the server leaves the model out", variable), turnOn(v1alpha2.APIInference, provider, variable))
		}
		key := modelKey{m.Name, provider.ID}
		entry := entries[key]
		if entry == nil {
			entry = &yaml.Node{Kind: yaml.MappingNode}
			list.Content = append(list.Content, entry)
			entries[key] = entry
		}
		g.overlayModel(entry, m, provider)
		g.uses = append(g.uses, providerUse{api: v1alpha2.APIInference.Name, id: provider.ID, path: m.Path})
	}
}

// modelKey tells registered models apart: by their model_id and the effective id of their provider.
type modelKey struct{ model, provider string }

// checkModelType makes sure that the release line has models of this type.
func (g *generation) checkModelType(m *v1alpha2.ModelConfig) {
	fields, _ := g.Line.ResourceFields("models")
	types := fields["model_type"].Values
	if m.ModelType == "" || len(types) == 0 || slices.Contains(types, string(m.ModelType)) {
		return
	}
	g.findings.fail(NotAvailable, m.Path+".modelType",
		fmt.Sprintf("release line %s has no models of type %s, only of %s", g.Line.Name, m.ModelType, strings.Join(types, " and ")),
		"remove the model, or use a distribution of a newer release line")
}

// servedName is the name under which clients ask for a registered model.
func (g *generation) servedName(providerID, modelID, providerModelID string) string {
	switch {
	case g.Line.AllProviders && providerID == allProviders:
		return modelID
	case !g.Line.ServesModelID && providerModelID != "":
		return providerID + "/" + providerModelID
	case g.Line.ServesModelID && strings.HasPrefix(modelID, providerID+"/"):
		return modelID
	default:
		return providerID + "/" + modelID
	}
}

// modelProvider finds the provider of a model: the one that it names, else the first inference provider of the
// resource, else the only one of the base that is always there.
func (g *generation) modelProvider(m *v1alpha2.ModelConfig, providers *document.ProviderSet) (document.Identity, bool) {
	if m.Provider != "" {
		provider, ok := providers.Find(m.Provider)
		if !ok && !g.findings.skip(Error) {
			g.findings.fail(UnknownProvider, m.Path+".provider", fmt.Sprintf("there is no inference provider with the id %q", m.Provider),
				"configure it under spec.providers.inference, or name one of "+providers.Names())
		}
		return provider, ok
	}
	for _, group := range g.groups {
		if group.API == v1alpha2.APIInference {
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
	if g.findings.skip(Error) {
		return document.Identity{}, false
	}
	g.findings.fail(NoProvider, m.Path, "names no provider, the resource configures none, and the base has no single obvious one",
		"write {name, provider} with one of "+providers.Names()+", or configure spec.providers.inference")
	return document.Identity{}, false
}

func (g *generation) overlayModel(entry *yaml.Node, m *v1alpha2.ModelConfig, provider document.Identity) {
	document.Set(entry, "model_id", document.String(m.Name))
	// The condition of a conditional provider goes with it: where the provider is off, the server skips the model.
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
	if metadata := g.modelMetadata(m); len(metadata) > 0 {
		document.Merge(document.Ensure(entry, "metadata", yaml.MappingNode), metadata)
	}
}

// modelMetadata puts the fields that the server has no name for beside the user's own metadata.
func (g *generation) modelMetadata(m *v1alpha2.ModelConfig) map[string]any {
	metadata := make(map[string]any, len(m.Metadata)+3)
	maps.Copy(metadata, m.Metadata)
	put := func(key, field string, value any) {
		if _, twice := metadata[key]; twice {
			g.findings.fail(Conflict, m.Path+".metadata."+key, fmt.Sprintf("sets %s, and so does %s.%s", key, m.Path, field), "keep one of them")
			return
		}
		metadata[key] = value
	}
	if m.ContextLength != nil {
		put(contextLengthKey, "contextLength", *m.ContextLength)
	}
	if m.Quantization != "" {
		put(quantizationKey, "quantization", m.Quantization)
	}
	if m.EmbeddingDimension != nil {
		put(embeddingDimensionKey, "embeddingDimension", *m.EmbeddingDimension)
	}
	return metadata
}
