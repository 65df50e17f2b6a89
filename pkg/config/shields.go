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
	g.enableAPI(api)
	list := ensure(ensure(g.root, "registered_resources", yaml.MappingNode), "shields", yaml.SequenceNode)
	search := &shieldSearch{
		generation: g, safety: g.providersOf(api), inference: g.providersOf(v1alpha2.APIInference.Name),
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
		set(entry, "shield_id", stringNode(s.ID))
		set(entry, "provider_id", stringNode(provider.raw))
		if !search.model(s, entry, provider) {
			continue
		}
		search.warnAbsentModel(s, entry, provider)
		if !there {
			list.Content = append(list.Content, entry)
		}
		g.uses = append(g.uses, providerUse{api: api, id: provider.id, path: s.Path})
		registered = cmp.Or(registered, s.ID)
	}
	if registered != "" {
		g.keepDefaultShield(list, registered)
	}
}

// shieldSearch finds what shields need. Neither providers nor models change while shields are applied.
type shieldSearch struct {
	*generation
	safety, inference *providerSet
	models            *modelChoices
}

// provider finds the provider of a shield: the one that it names, else the first safety provider of the resource, else that of
// the base's shield of this id, else the one that is called like the shield, else the only one of the base that is always there.
func (g *shieldSearch) provider(s *v1alpha2.ShieldConfig, entry *yaml.Node) (identity, bool) {
	if s.Provider != "" {
		provider, ok := g.safety.find(s.Provider)
		if !ok {
			if g.findings.skip(Error) {
				return provider, false
			}
			g.findings.fail(UnknownProvider, s.Path+".provider", fmt.Sprintf("there is no safety provider with the id %q", s.Provider),
				"configure it under spec.providers.safety, or name one of "+g.safety.known())
			return provider, false
		}
		// The server would start without the shield. Unlike a model that is not there nobody notices that, so a warning is not enough.
		if variable := g.missingSwitch(provider); variable != "" {
			g.findings.fail(NoProvider, s.Path+".provider", fmt.Sprintf("is there only where the environment variable %s is set", variable),
				turnOn(v1alpha2.APISafety, provider, variable))
			return provider, false
		}
		return provider, true
	}
	for _, group := range g.groups {
		if group.API == v1alpha2.APISafety {
			return g.safety.first(group.Providers[0].EffectiveID())
		}
	}
	certain := g.safety.certain
	for _, id := range []string{identityOf(child(entry, "provider_id")).id, s.ID} {
		if provider, ok := findIdentity(certain, id); ok {
			return provider, true
		}
	}
	if len(certain) == 1 {
		return certain[0], true
	}
	if g.findings.skip(Error) {
		return identity{}, false
	}
	g.findings.fail(NoProvider, s.Path, "names no provider, the resource configures none, and the base has no single obvious one",
		"write {id, provider} with one of "+g.safety.known()+", or configure spec.providers.safety")
	return identity{}, false
}

// certain returns the providers that are there whatever the environment of the image says.
func (g *generation) certain(ids []identity) []identity {
	given := g.givenEnv()
	var there []identity
	for _, id := range ids {
		// ${env.X:+id} is there when X is given, ${env.X:=id} when it is not.
		m := wholeReference(id.raw)
		if id.presence == always || (id.presence == sometimes && m != nil && (m[2] == "+") == given[m[1]]) {
			there = append(there, id)
		}
	}
	return there
}

// missingSwitch returns the environment variable that turns a provider on, where the resource does not give it; else nothing.
func (g *generation) missingSwitch(id identity) string {
	m := wholeReference(id.raw)
	if id.presence != sometimes || m[2] != "+" || g.givenEnv()[m[1]] {
		return ""
	}
	return m[1]
}

// turnOn tells how to turn on a provider of the base.
func turnOn(api v1alpha2.ProviderAPI, provider identity, variable string) string {
	return fmt.Sprintf("configure %s under spec.providers.%s, or set %s in spec.workload.overrides.env", provider.id, api.Field, variable)
}

// shieldModelKey is where a registered shield names its model.
const shieldModelKey = "provider_shield_id"

// asksModel tells whether a safety provider asks a model: those that need the API inference do.
func (g *generation) asksModel(provider identity) bool {
	row, known := g.Line.Provider(v1alpha2.APISafety.Name, g.providerTypeOf(v1alpha2.APISafety.Name, provider))
	return known && slices.Contains(row.Needs, v1alpha2.APIInference.Name)
}

// warnAbsentModel tells of a shield whose model is served by a provider that nothing surely turns on. It is no error: the image may set
// the variable, and where it does not, what asks for the shield fails instead of going on without it.
func (g *shieldSearch) warnAbsentModel(s *v1alpha2.ShieldConfig, entry *yaml.Node, provider identity) {
	model := text(child(entry, shieldModelKey))
	if !g.asksModel(provider) || envPattern.MatchString(model) {
		return
	}
	servedBy, _, _ := strings.Cut(model, "/")
	server, ok := g.inference.find(servedBy)
	if !ok {
		return
	}
	if variable := g.missingSwitch(server); variable != "" {
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
func (g *shieldSearch) model(s *v1alpha2.ShieldConfig, entry *yaml.Node, provider identity) bool {
	if !g.asksModel(provider) {
		if s.Model != "" {
			set(entry, shieldModelKey, stringNode(s.Model))
		} else if unset(child(entry, shieldModelKey), g.givenEnv()) {
			drop(entry, shieldModelKey)
		}
		return true
	}
	if s.Model == "" && !unset(child(entry, shieldModelKey), g.givenEnv()) {
		return true
	}
	name, path := s.Model, s.Path+".model"
	if name == "" {
		name, path = s.ID, s.Path
	}
	if model, ok := g.models.find(name); ok {
		set(entry, shieldModelKey, stringNode(model.served))
		return true
	}
	if s.Model == "" {
		if len(g.models.guards) == 1 {
			set(entry, shieldModelKey, stringNode(g.models.guards[0].served))
			return true
		}
	} else if g.isServable(s.Model) {
		set(entry, shieldModelKey, stringNode(s.Model))
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
	for _, entry := range items(child(child(g.root, "registered_resources"), "models")) {
		id, provider := text(child(entry, "model_id")), identityOf(child(entry, "provider_id"))
		if id == "" || provider.id == "" || modelTypeOf(entry) != modelType {
			continue
		}
		models = append(models, servedModel{id: id, served: g.servedName(provider.id, id, text(child(entry, "provider_model_id")))})
	}
	return models
}

func modelTypeOf(entry *yaml.Node) string {
	if t := text(child(entry, "model_type")); t != "" {
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
	if envPattern.MatchString(name) {
		return true
	}
	return slices.ContainsFunc(g.inference.all, func(id identity) bool { return id.id != "" && strings.HasPrefix(name, id.id+"/") })
}

// providerTypeOf returns the type of a provider of the configuration.
func (g *generation) providerTypeOf(api string, provider identity) string {
	return text(child(g.entryOf(api, provider), "provider_type"))
}

// entryOf returns the entry of a provider of the configuration; nil where there is none.
func (g *generation) entryOf(api string, provider identity) *yaml.Node {
	for _, entry := range items(child(child(g.root, "providers"), api)) {
		if provider.id != "" && text(child(entry, "provider_id")) == provider.raw {
			return entry
		}
	}
	return nil
}

// keepDefaultShield keeps the default shield among those that are there: with any shield registered, the server does not start where
// the default one is not. The base's own shields may be off: instead takes their place then.
func (g *generation) keepDefaultShield(list *yaml.Node, instead string) {
	name := text(child(child(g.root, "safety"), "default_shield_id"))
	if name == "" || envPattern.MatchString(name) {
		return
	}
	for _, entry := range list.Content {
		if text(child(entry, "shield_id")) == name && len(g.certain([]identity{identityOf(child(entry, "provider_id"))})) > 0 {
			return
		}
	}
	set(child(g.root, "safety"), "default_shield_id", stringNode(instead))
}
