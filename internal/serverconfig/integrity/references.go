// SPDX-License-Identifier: Apache-2.0

package integrity

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/resource"
)

// references checks that all referenced providers, models, shields and connectors exist.
func (c *check) references() {
	resources := c.doc.Section("registered_resources")
	for _, name := range document.Keys(resources) {
		api, ok := resource.ProviderAPIs[name]
		if !ok {
			continue
		}
		providers := c.providersOf(api)
		for i, item := range document.Items(document.Child(resources, name)) {
			if c.ctx.Err() != nil {
				return
			}
			if name == "models" && c.line.AllProviders && document.Text(document.Child(item,
				"provider_id")) == resource.AllProviders {
				continue
			}
			c.providerID(document.Child(item, "provider_id"), api, providers, func() string {
				return fmt.Sprintf("registered_resources.%s[%d].provider_id", name, i)
			})
		}
	}
	defaults := c.doc.Section("vector_stores")
	c.providerID(document.Child(defaults, "default_provider_id"), "vector_io", c.providersOf("vector_io"),
		func() string { return "vector_stores.default_provider_id" })
	for _, ref := range resource.ModelReferences {
		c.modelReference(ref)
	}
	c.models()
	c.defaultShield()
	c.connectors()
}

// modelReference checks the provider of a model in the vector stores, and the type of a registered one. Unregistered
// models are allowed, because providers list their own.
func (c *check) modelReference(ref resource.ModelReference) {
	n := document.Descend(c.doc.Section("vector_stores"), ref.Path)
	path := "vector_stores." + strings.Join(ref.Path, ".")
	c.providerID(document.Child(n, "provider_id"), "inference", c.providersOf("inference"), func() string {
		return path + ".provider_id"
	})
	name := document.Text(document.Child(n, "provider_id")) + "/" + document.Text(document.Child(n, "model_id"))
	registered := func(modelType v1alpha2.ModelType) bool {
		return slices.ContainsFunc(resource.ServedModels(c.doc, c.line, modelType), func(m resource.ServedModel) bool {
			return m.Served == name
		})
	}
	if n == nil || registered(ref.ModelType) {
		return
	}
	for _, other := range []v1alpha2.ModelType{v1alpha2.ModelTypeLLM, v1alpha2.ModelTypeEmbedding,
		v1alpha2.ModelTypeRerank} {
		if registered(other) {
			c.inconsistent(path, fmt.Sprintf("%s is registered as a model of type %s", name, other),
				"name a model of type "+string(ref.ModelType))
		}
	}
}

// defaultEmbeddingModel warns if clients must name an embedding model for each vector store of a configured provider.
func (c *check) defaultEmbeddingModel() {
	at := slices.IndexFunc(c.groups, func(g parse.ProviderGroup) bool { return g.API == parse.APIVectorIO })
	if at < 0 || c.problems.HasErrors() || !c.serves(parse.APIVectorIO.Name) ||
		document.Child(c.doc.Section("vector_stores"), "default_embedding_model") != nil {
		return
	}
	c.problems.Add(problem.Problem{
		Reason: problem.MissingField, Severity: problem.Warning, Path: c.groups[at].Providers[0].Path,
		Detail: "clients must name an embedding model for each vector store, because there is no default",
		Fix:    "set spec.resources.defaults.embeddingModel",
	})
}

// models checks the vector dimension and unique names of registered models.
func (c *check) models() {
	first := map[string]int{}
	for i, entry := range document.Items(c.doc.Registered("models")) {
		provider := document.IdentityOf(document.Child(entry, "provider_id"))
		if provider.Presence != document.Unconditional && provider.Presence != document.Conditional {
			continue
		}
		path := fmt.Sprintf("registered_resources.models[%d]", i)
		if resource.ModelTypeOf(entry) == v1alpha2.ModelTypeEmbedding &&
			document.Child(document.Child(entry, "metadata"), resource.EmbeddingDimensionKey) == nil {
			c.inconsistent(path+".metadata", "the embedding model has no "+resource.EmbeddingDimensionKey, "give the length "+
				"of its vectors")
		}
		id := document.Text(document.Child(entry, "model_id"))
		if provider.Presence == document.Conditional || id == "" || document.HasReference(id) {
			continue
		}
		served := resource.ServedName(c.line, provider.ID, id, document.Text(document.Child(entry, "provider_model_id")))
		if other, twice := first[served]; twice {
			c.inconsistent(path, fmt.Sprintf("is served as %s, as is registered_resources.models[%d]", served, other), "keep "+
				"one of them")
		}
		first[served] = i
	}
}

func (c *check) connectors() {
	seen := map[string]bool{}
	for i, entry := range document.Items(c.doc.Section("connectors")) {
		id := document.Text(document.Child(entry, "connector_id"))
		if id != "" && seen[id] {
			c.inconsistent(
				fmt.Sprintf("connectors[%d].connector_id", i),
				fmt.Sprintf("there is another connector %q", id),
				"keep "+
					"one of them",
			)
		}
		seen[id] = true
	}
}

// providerID checks a reference to a provider. It skips empty references and those that the environment decides. A
// conditional provider counts as existing, unless it is known to be off in the user's own file.
func (c *check) providerID(ref *yaml.Node, api string, providers *document.ProviderSet, path func() string) {
	name := document.IdentityOf(ref)
	if name.Presence == document.Conditional && !c.env.Given().Enables(name) {
		return // probably disabled: the server skips it
	}
	found, known := providers.Find(name.ID)
	if off := c.env.Given().MissingSwitch(found); known && off != "" && c.own && c.env.Given() != nil {
		c.inconsistent(path(), fmt.Sprintf("the %s provider %s is off, because nothing sets %s", api, name.ID, off),
			"set the environment variable, or remove the reference")
		return
	}
	if name.ID == "" || known || providers.HasUnknown || c.problems.Full(problem.Error) {
		return
	}
	c.broken(path(), fmt.Sprintf("there is no %s provider with the id %q", api, name.ID),
		document.EffectiveIDs(providers.All))
}

// defaultShield checks the default shield if shields are registered, as the server does. A conditional shield is
// invalid if another one is unconditionally enabled.
func (c *check) defaultShield() {
	name := document.Text(document.Child(c.doc.Section("safety"), "default_shield_id"))
	if _, read := c.line.Sections["safety"]; !read || name == "" || document.HasReference(name) {
		return
	}
	var others []string
	listed, otherEnabled := false, false
	for _, shield := range document.Items(c.doc.Registered("shields")) {
		id, provider := document.Text(document.Child(shield, "shield_id")),
			document.IdentityOf(document.Child(shield, "provider_id"))
		enabled := c.env.Given().Enables(provider)
		switch {
		case provider.Presence == document.Disabled:
		case document.HasReference(id) || (id == name && enabled):
			return
		case id == name:
			listed = true
		default:
			others = append(others, id)
			otherEnabled = otherEnabled || enabled
		}
	}
	if len(others) > 0 && (!listed || otherEnabled) {
		message := fmt.Sprintf("there is no shield %q", name)
		if listed {
			message = fmt.Sprintf("the shield %q is only conditionally enabled, and another one is always enabled", name)
		}
		c.broken("safety.default_shield_id", message, others)
	}
}
