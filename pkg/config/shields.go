// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
)

// applyShields registers the shields of the resource: over those of the base with the same id, else after them.
func (g *generation) applyShields() {
	if len(g.shields) == 0 {
		return
	}
	api := v1alpha2.APISafety.Name
	if _, ok := g.Line.APIs[api]; !ok {
		g.refuseAbsent(api, "spec.resources.shields")
		return
	}
	g.doc.EnableAPI(api)
	list := g.doc.EnsureRegistered("shields")
	search := &shieldSearch{
		generation: g, safety: g.doc.Lookup(api, g.env.Given()), inference: g.doc.Lookup(v1alpha2.APIInference.Name, g.env.Given()),
		models: newModelChoices(g.servedModels(string(v1alpha2.ModelTypeLLM))),
	}
	entries := indexByID(list, "shield_id")
	paths, registered := make(map[string]string, len(g.shields)), ""
	for i := range g.shields {
		if g.stopped() {
			return
		}
		s := &g.shields[i]
		if at, twice := paths[s.ID]; twice {
			g.findings.fail(Conflict, s.Path, "registers the shield of "+at+" once more", "keep one of them")
			continue
		}
		paths[s.ID] = s.Path
		entry, there := entries[s.ID]
		if !there {
			entry = &yaml.Node{Kind: yaml.MappingNode}
		}
		provider, ok := search.provider(s, entry)
		if !ok {
			continue
		}
		document.Set(entry, "shield_id", document.String(s.ID))
		document.Set(entry, "provider_id", document.String(provider.Raw))
		if !search.model(s, entry, provider) {
			continue
		}
		search.warnAbsentModel(s, entry, provider)
		if !there {
			list.Content = append(list.Content, entry)
		}
		g.uses = append(g.uses, providerUse{api: api, id: provider.ID, path: s.Path})
		registered = cmp.Or(registered, s.ID)
	}
	if registered != "" {
		g.keepDefaultShield(list, registered)
	}
}

// shieldSearch finds what shields need. Neither providers nor models change while shields are applied.
type shieldSearch struct {
	*generation
	safety, inference *document.ProviderSet
	models            *modelChoices
}

// provider finds the provider of a shield: the one that it names, else the first safety provider of the resource, else that of
// the base's shield of this id, else the one that is called like the shield, else the only one of the base that is always there.
func (g *shieldSearch) provider(s *v1alpha2.ShieldConfig, entry *yaml.Node) (document.Identity, bool) {
	if s.Provider != "" {
		provider, ok := g.safety.Find(s.Provider)
		if !ok {
			if g.findings.skip(Error) {
				return provider, false
			}
			g.findings.fail(UnknownProvider, s.Path+".provider", fmt.Sprintf("there is no safety provider with the id %q", s.Provider),
				"configure it under spec.providers.safety, or name one of "+g.safety.Names())
			return provider, false
		}
		// The server would start without the shield. Unlike a model that is not there nobody notices that, so a warning is not enough.
		if variable := g.env.Given().MissingSwitch(provider); variable != "" {
			g.findings.fail(NoProvider, s.Path+".provider", fmt.Sprintf("is there only where the environment variable %s is set", variable),
				turnOn(v1alpha2.APISafety, provider, variable))
			return provider, false
		}
		return provider, true
	}
	for _, group := range g.groups {
		if group.API == v1alpha2.APISafety {
			return g.safety.First(group.Providers[0].EffectiveID())
		}
	}
	certain := g.safety.Enabled
	for _, id := range []string{document.IdentityOf(document.Child(entry, "provider_id")).ID, s.ID} {
		if provider, ok := document.FindIdentity(certain, id); ok {
			return provider, true
		}
	}
	if len(certain) == 1 {
		return certain[0], true
	}
	if g.findings.skip(Error) {
		return document.Identity{}, false
	}
	g.findings.fail(NoProvider, s.Path, "names no provider, the resource configures none, and the base has no single obvious one",
		"write {id, provider} with one of "+g.safety.Names()+", or configure spec.providers.safety")
	return document.Identity{}, false
}

// turnOn tells how to turn on a provider of the base.
func turnOn(api v1alpha2.ProviderAPI, provider document.Identity, variable string) string {
	return fmt.Sprintf("configure %s under spec.providers.%s, or set %s in spec.workload.overrides.env", provider.ID, api.Field, variable)
}

// shieldModelKey is where a registered shield names its model.
const shieldModelKey = "provider_shield_id"

// asksModel tells whether a safety provider asks a model: those that need the API inference do.
func (g *generation) asksModel(provider document.Identity) bool {
	row, known := g.Line.Provider(v1alpha2.APISafety.Name, g.doc.TypeOf(v1alpha2.APISafety.Name, provider))
	return known && slices.Contains(row.Needs, v1alpha2.APIInference.Name)
}

// warnAbsentModel tells of a shield whose model is served by a provider that nothing surely turns on. It is no error: the image may set
// the variable, and where it does not, what asks for the shield fails instead of going on without it.
func (g *shieldSearch) warnAbsentModel(s *v1alpha2.ShieldConfig, entry *yaml.Node, provider document.Identity) {
	model := document.Text(document.Child(entry, shieldModelKey))
	if !g.asksModel(provider) || document.HasReference(model) {
		return
	}
	servedBy, _, _ := strings.Cut(model, "/")
	server, ok := g.inference.Find(servedBy)
	if !ok {
		return
	}
	if variable := g.env.Given().MissingSwitch(server); variable != "" {
		path := s.Path
		if s.Model != "" {
			path += ".model"
		}
		g.findings.warn(NoProvider, path, fmt.Sprintf("asks %s, which is there only where the environment variable %s is set", model, variable),
			turnOn(v1alpha2.APIInference, server, variable))
	}
}

// model writes which model a shield asks, where its provider asks one. Other providers take the model's name as they like, and the
// shield's own id where there is none.
func (g *shieldSearch) model(s *v1alpha2.ShieldConfig, entry *yaml.Node, provider document.Identity) bool {
	if !g.asksModel(provider) {
		if s.Model != "" {
			document.Set(entry, shieldModelKey, document.String(s.Model))
		} else if g.env.Given().IsEmpty(document.Child(entry, shieldModelKey)) {
			document.Drop(entry, shieldModelKey)
		}
		return true
	}
	if s.Model == "" && !g.env.Given().IsEmpty(document.Child(entry, shieldModelKey)) {
		return true
	}
	name, path := s.Model, s.Path+".model"
	if name == "" {
		name, path = s.ID, s.Path
	}
	if model, ok := g.models.find(name); ok {
		document.Set(entry, shieldModelKey, document.String(model.served))
		return true
	}
	if s.Model == "" {
		if len(g.models.guards) == 1 {
			document.Set(entry, shieldModelKey, document.String(g.models.guards[0].served))
			return true
		}
	} else if g.isServable(s.Model) {
		document.Set(entry, shieldModelKey, document.String(s.Model))
		return true
	}
	if g.findings.skip(Error) {
		return false
	}
	message := "names no model, and no registered one is obviously meant"
	if s.Model != "" {
		message = "is not a registered model"
	}
	g.findings.fail(NoModel, path, message, choicesOf(g.models.all))
	return false
}

func choicesOf(models []servedModel) string {
	if len(models) == 0 {
		return "register a Llama Guard model under spec.resources.models, and write {id, model} with its name"
	}
	names := make([]string, len(models))
	for i, m := range models {
		names[i] = m.served
	}
	slices.Sort(names)
	return "write {id, model} with one of " + bounds.Names(slices.Compact(names)) + ", or register another one under spec.resources.models"
}

// looksLikeGuard tells whether a name is that of a Llama Guard model.
func looksLikeGuard(name string) bool {
	letters := strings.Map(func(r rune) rune {
		if strings.ContainsRune("-_. ", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
	return strings.Contains(letters, "llamaguard")
}

// servedModel is a registered model.
type servedModel struct {
	// id is its model_id, served the name under which it is asked for.
	id, served string
}

// servedModels returns the registered models of a type that are there or may be there.
func (g *generation) servedModels(modelType string) []servedModel {
	var models []servedModel
	for _, entry := range document.Items(g.doc.Registered("models")) {
		id, provider := document.Text(document.Child(entry, "model_id")), document.IdentityOf(document.Child(entry, "provider_id"))
		if id == "" || provider.ID == "" || modelTypeOf(entry) != modelType {
			continue
		}
		models = append(models, servedModel{id: id, served: g.servedName(provider.ID, id, document.Text(document.Child(entry, "provider_model_id")))})
	}
	return models
}

func modelTypeOf(entry *yaml.Node) string {
	if t := document.Text(document.Child(entry, "model_type")); t != "" {
		return t
	}
	return string(v1alpha2.ModelTypeLLM)
}

// modelChoices are the registered models that shields may ask.
type modelChoices struct {
	all []servedModel
	// served are the first models by the name under which they are served, named those by their model_id.
	served map[string]servedModel
	named  map[string][]servedModel
	// guards are those that look like a Llama Guard model.
	guards []servedModel
}

func newModelChoices(models []servedModel) *modelChoices {
	c := &modelChoices{all: models, served: make(map[string]servedModel, len(models)), named: make(map[string][]servedModel, len(models))}
	for _, m := range models {
		if _, twice := c.served[m.served]; !twice {
			c.served[m.served] = m
		}
		c.named[m.id] = append(c.named[m.id], m)
		if looksLikeGuard(m.id) {
			c.guards = append(c.guards, m)
		}
	}
	return c
}

// find finds a registered model by the name under which it is served, else by its model_id where only one has it.
func (c *modelChoices) find(name string) (servedModel, bool) {
	if m, ok := c.served[name]; ok {
		return m, true
	}
	if named := c.named[name]; len(named) == 1 {
		return named[0], true
	}
	return servedModel{}, false
}

// isServable tells whether a model that nobody registers may be there: its provider lists it, or the environment names it.
func (g *shieldSearch) isServable(name string) bool {
	if document.HasReference(name) {
		return true
	}
	return slices.ContainsFunc(g.inference.All, func(id document.Identity) bool { return id.ID != "" && strings.HasPrefix(name, id.ID+"/") })
}

// keepDefaultShield keeps the default shield among those that are there: with any shield registered, the server does not start where
// the default one is not. The base's own shields may be off: instead takes their place then.
func (g *generation) keepDefaultShield(list *yaml.Node, instead string) {
	name := document.Text(document.Child(g.doc.Section("safety"), "default_shield_id"))
	if name == "" || document.HasReference(name) {
		return
	}
	for _, entry := range list.Content {
		if document.Text(document.Child(entry, "shield_id")) == name && g.env.Given().Enables(document.IdentityOf(document.Child(entry, "provider_id"))) {
			return
		}
	}
	document.Set(g.doc.Section("safety"), "default_shield_id", document.String(instead))
}
