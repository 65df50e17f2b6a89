// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// ServedName returns the name of a registered model in client requests.
func ServedName(line *catalog.Line, providerID, modelID, providerModelID string) string {
	switch {
	case line.AllProviders && providerID == AllProviders:
		return modelID
	case !line.ServesModelID && providerModelID != "":
		return providerID + "/" + providerModelID
	case line.ServesModelID && strings.HasPrefix(modelID, providerID+"/"):
		return modelID
	default:
		return providerID + "/" + modelID
	}
}

func modelFix(models []ServedModel) string {
	if len(models) == 0 {
		return "register a Llama Guard model under spec.resources.models, and write {id, model} with its name"
	}
	return "write {id, model} with one of " + servedNames(models) + ", or register another one under spec.resources.models"
}

// servedNames lists the served names of models for a message.
func servedNames(models []ServedModel) string {
	names := make([]string, len(models))
	for i, m := range models {
		names[i] = m.Served
	}
	slices.Sort(names)
	return limits.Names(slices.Compact(names))
}

// looksLikeGuard reports whether a name looks like that of a Llama Guard model.
func looksLikeGuard(name string) bool {
	letters := strings.Map(func(r rune) rune {
		if strings.ContainsRune("-_. ", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
	return strings.Contains(letters, "llamaguard")
}

// ServedModel is a registered model.
type ServedModel struct {
	// ID is its model_id, and Served is its name in client requests.
	ID, Served string
	entry      *yaml.Node
}

// ServedModels returns the registered models of a type whose provider may be enabled.
func ServedModels(doc *document.Document, line *catalog.Line, modelType v1alpha2.ModelType) []ServedModel {
	var models []ServedModel
	for _, entry := range document.Items(doc.Registered("models")) {
		id, provider := document.Text(document.Child(entry, "model_id")),
			document.IdentityOf(document.Child(entry, "provider_id"))
		if id == "" || provider.ID == "" || ModelTypeOf(entry) != modelType {
			continue
		}
		served := ServedName(line, provider.ID, id, document.Text(document.Child(entry, "provider_model_id")))
		models = append(models, ServedModel{ID: id, Served: served, entry: entry})
	}
	return models
}

// ServedNames returns the names in client requests of all registered models, or nil if a name depends on the
// environment.
func ServedNames(doc *document.Document, line *catalog.Line) []string {
	names := []string{}
	for _, entry := range document.Items(doc.Registered("models")) {
		id, provider := document.Text(document.Child(entry, "model_id")),
			document.IdentityOf(document.Child(entry, "provider_id"))
		served := ServedName(line, provider.ID, id, document.Text(document.Child(entry, "provider_model_id")))
		if document.HasReference(served) || provider.Presence == document.Unknown {
			return nil
		}
		names = append(names, served)
	}
	return names
}

// ModelTypeOf returns the type of a registered model.
func ModelTypeOf(entry *yaml.Node) v1alpha2.ModelType {
	if t := document.Text(document.Child(entry, "model_type")); t != "" {
		return v1alpha2.ModelType(t)
	}
	return v1alpha2.ModelTypeLLM
}

// modelIndex are the registered models that a shield or vector store can use.
type modelIndex struct {
	all []ServedModel
	// served maps a served name to its first model, named a model_id to its models.
	served map[string]ServedModel
	named  map[string][]ServedModel
	// guards are the models that look like Llama Guard.
	guards []ServedModel
}

func newModelIndex(models []ServedModel) *modelIndex {
	c := &modelIndex{all: models, served: make(map[string]ServedModel, len(models)),
		named: make(map[string][]ServedModel, len(models))}
	for _, m := range models {
		if _, twice := c.served[m.Served]; !twice {
			c.served[m.Served] = m
		}
		c.named[m.ID] = append(c.named[m.ID], m)
		if looksLikeGuard(m.ID) {
			c.guards = append(c.guards, m)
		}
	}
	return c
}

// find returns the model with the served name, or else the only one with the model_id.
func (c *modelIndex) find(name string) (ServedModel, bool) {
	if m, ok := c.served[name]; ok {
		return m, true
	}
	if named := c.named[name]; len(named) == 1 {
		return named[0], true
	}
	return ServedModel{}, false
}
