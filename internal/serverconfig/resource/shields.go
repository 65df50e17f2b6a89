// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

// applyShields registers the shields of the spec. A shield replaces fields of the base's entry with the same id.
func (r *registration) applyShields(shields []parse.Shield) {
	if len(shields) == 0 {
		return
	}
	api := parse.APISafety.Name
	if _, ok := r.line.APIs[api]; !ok {
		r.problems.Add(release.MissingAPI(r.line, api, "spec.resources.shields"))
		return
	}
	r.doc.EnableAPI(api)
	list := r.doc.EnsureRegistered("shields")
	search := &shieldResolver{
		registration: r, safety: r.doc.Lookup(api, r.env.Given()),
		inference: r.doc.Lookup(parse.APIInference.Name, r.env.Given()),
		models:    newModelIndex(ServedModels(r.doc, r.line, v1alpha2.ModelTypeLLM)),
	}
	entries := indexByID(list, "shield_id")
	paths, registered := make(map[string]string, len(shields)), ""
	for i := range shields {
		if r.ctx.Err() != nil {
			return
		}
		s := &shields[i]
		if at, twice := paths[s.ID]; twice {
			r.problems.Add(problem.Problem{
				Reason: problem.ConflictingFields, Path: s.Path, Type: field.ErrorTypeDuplicate, Value: s.ID,
				Detail: "duplicates the shield of " + at,
				Fix:    "keep one of them",
			})
			continue
		}
		paths[s.ID] = s.Path
		entry, exists := entries[s.ID]
		if !exists {
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
		if !exists {
			list.Content = append(list.Content, entry)
		}
		r.uses = append(r.uses, Use{API: api, ID: provider.ID, Path: s.Path})
		registered = cmp.Or(registered, s.ID)
	}
	if registered != "" {
		r.keepDefaultShield(list, registered)
	}
}

// shieldResolver looks up providers and models, which do not change while shields are applied.
type shieldResolver struct {
	*registration
	safety, inference *document.ProviderSet
	models            *modelIndex
}

// provider returns the provider of a shield: the named one, the first safety provider of the spec, that of the base's
// shield with this id, the one with the shield's id, or the base's only enabled one.
func (r *shieldResolver) provider(s *parse.Shield, entry *yaml.Node) (document.Identity, bool) {
	if s.Provider != "" {
		provider, ok := r.namedProvider(parse.APISafety, r.safety, s.Provider, s.Path)
		if !ok {
			return provider, false
		}
		// An error, because the server would start without the shield, and clients would not notice.
		if variable := r.env.Given().MissingSwitch(provider); variable != "" {
			r.problems.Add(problem.Problem{
				Reason: problem.ProviderNotEnabled, Path: s.Path + ".provider", Type: field.ErrorTypeInvalid, Value: s.Provider,
				Detail: "is enabled only if the environment variable " + variable + " is set",
				Fix:    enableFix(parse.APISafety, provider, variable),
			})
			return provider, false
		}
		return provider, true
	}
	for _, group := range r.groups {
		if group.API == parse.APISafety {
			return r.safety.First(group.Providers[0].EffectiveID())
		}
	}
	enabled := r.safety.Enabled
	for _, id := range []string{document.IdentityOf(document.Child(entry, "provider_id")).ID, s.ID} {
		if provider, ok := document.FindIdentity(enabled, id); ok {
			return provider, true
		}
	}
	if len(enabled) == 1 {
		return enabled[0], true
	}
	if r.problems.Full(problem.Error) {
		return document.Identity{}, false
	}
	r.problems.Add(problem.Problem{
		Reason: problem.MissingField, Path: s.Path, Type: field.ErrorTypeRequired,
		Detail: "the spec configures no safety provider, and the base does not have exactly one that is unconditionally " +
			"enabled",
		Fix: "write {id, provider} with one of " + r.safety.Names() + ", or configure spec.providers.safety",
	})
	return document.Identity{}, false
}

// enableFix returns the fix for a conditional provider of the base.
func enableFix(api parse.ProviderAPI, provider document.Identity, variable string) string {
	return fmt.Sprintf("configure %s under spec.providers.%s, or set %s in spec.workload.overrides.env", provider.ID,
		api.Field, variable)
}

// shieldModelKey is the field with the model of a registered shield.
const shieldModelKey = "provider_shield_id"

// usesModel reports whether a safety provider uses a model, which is when it needs the API inference.
func (r *registration) usesModel(provider document.Identity) bool {
	row, known := r.line.Provider(parse.APISafety.Name, r.doc.TypeOf(parse.APISafety.Name, provider))
	return known && slices.Contains(row.Needs, parse.APIInference.Name)
}

// warnAbsentModel warns about a shield whose model has a conditional provider. It is not an error, because the image
// may enable the provider, and otherwise requests with the shield fail.
func (r *shieldResolver) warnAbsentModel(s *parse.Shield, entry *yaml.Node, provider document.Identity) {
	model := document.Text(document.Child(entry, shieldModelKey))
	if !r.usesModel(provider) || document.HasReference(model) {
		return
	}
	servedBy, _, _ := strings.Cut(model, "/")
	server, ok := r.inference.Find(servedBy)
	if !ok {
		return
	}
	if variable := r.env.Given().MissingSwitch(server); variable != "" {
		path := s.Path
		if s.Model != "" {
			path += ".model"
		}
		r.problems.Add(problem.Problem{
			Reason: problem.ProviderNotEnabled, Severity: problem.Warning, Path: path,
			Detail: fmt.Sprintf("uses %s, whose provider is enabled only if the environment variable %s is set", model,
				variable),
			Fix: enableFix(parse.APIInference, server, variable),
		})
	}
}

// model sets the model of a shield. It must be known if the provider uses a model.
func (r *shieldResolver) model(s *parse.Shield, entry *yaml.Node, provider document.Identity) bool {
	if !r.usesModel(provider) {
		if s.Model != "" {
			document.Set(entry, shieldModelKey, document.String(s.Model))
		} else if r.env.Given().IsEmpty(document.Child(entry, shieldModelKey)) {
			document.Drop(entry, shieldModelKey)
		}
		return true
	}
	if s.Model == "" && !r.env.Given().IsEmpty(document.Child(entry, shieldModelKey)) {
		return true
	}
	name, path := s.Model, s.Path+".model"
	if name == "" {
		name, path = s.ID, s.Path
	}
	if model, ok := r.models.find(name); ok {
		document.Set(entry, shieldModelKey, document.String(model.Served))
		return true
	}
	if s.Model == "" {
		if len(r.models.guards) == 1 {
			document.Set(entry, shieldModelKey, document.String(r.models.guards[0].Served))
			return true
		}
	} else if r.isServable(s.Model) {
		document.Set(entry, shieldModelKey, document.String(s.Model))
		return true
	}
	if r.problems.Full(problem.Error) {
		return false
	}
	p := problem.Problem{Reason: problem.BrokenReference, Path: path, Type: field.ErrorTypeNotFound, Value: s.Model,
		Fix: modelFix(r.models.all)}
	if p.Detail = "is not a registered model"; s.Model == "" {
		p.Type, p.Value, p.Detail = field.ErrorTypeRequired, nil, "names no model, and no registered model is an obvious "+
			"choice"
	}
	r.problems.Add(p)
	return false
}

// isServable reports whether an unregistered model may exist, because a provider lists it or the environment names it.
func (r *shieldResolver) isServable(name string) bool {
	if document.HasReference(name) {
		return true
	}
	return slices.ContainsFunc(r.inference.All, func(id document.Identity) bool {
		return id.ID != "" && strings.HasPrefix(name, id.ID+"/")
	})
}

// keepDefaultShield replaces a default shield that may be disabled, because the server would not start.
func (r *registration) keepDefaultShield(list *yaml.Node, replacement string) {
	name := document.Text(document.Child(r.doc.Section("safety"), defaultShield))
	if name == "" || document.HasReference(name) {
		return
	}
	for _, entry := range list.Content {
		if document.Text(document.Child(entry, "shield_id")) == name &&
			r.env.Given().Enables(document.IdentityOf(document.Child(entry, "provider_id"))) {
			return
		}
	}
	document.Set(r.doc.Section("safety"), defaultShield, document.String(replacement))
}
