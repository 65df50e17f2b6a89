// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// toolProvider returns the provider of a tool group: the named one, the first of the spec, or an enabled one of the
// base. Of these it prefers those with a key, then the one that the base registers the group with.
func (r *toolStep) toolProvider(t *parse.Tool, id string, types []string) (document.Identity, bool) {
	if t.Provider != "" {
		return r.namedToolProvider(t, types)
	}
	var serving []document.Identity
	for _, candidate := range r.doc.Identities(parse.APIToolRuntime.Name) {
		if slices.Contains(types, r.doc.TypeOf(parse.APIToolRuntime.Name, candidate)) {
			serving = append(serving, candidate)
		}
	}
	for _, group := range r.groups {
		for i := range group.Providers {
			if provider, ok := document.FindIdentity(serving, group.Providers[i].EffectiveID()); ok &&
				group.API == parse.APIToolRuntime {
				return provider, true
			}
		}
	}
	enabled := r.env.Given().Enabled(serving)
	keyed := slices.DeleteFunc(slices.Clone(enabled), func(id document.Identity) bool { return !r.hasKey(id) })
	if len(keyed) > 0 {
		enabled = keyed
	}
	if provider, ok := document.FindIdentity(enabled, r.registeredWith(id)); ok {
		return provider, true
	}
	if len(enabled) > 0 {
		return enabled[0], true
	}
	if r.problems.Full(problem.Error) {
		return document.Identity{}, false
	}
	choices := make([]string, len(types))
	for i, providerType := range types {
		choices[i] = providerType[strings.Index(providerType, "::")+2:]
	}
	fix := "configure one under spec.providers.toolRuntime: provider " + strings.Join(choices, ", ")
	if conditional := document.EffectiveIDs(serving); len(conditional) > 0 {
		fix += "; or set the environment variable that enables " + limits.Names(conditional)
	}
	r.problems.Add(problem.Problem{
		Reason: problem.ProviderNotEnabled, Path: t.Path, Type: field.ErrorTypeInvalid,
		Detail: "no unconditionally enabled provider supports these tools",
		Fix:    fix,
	})
	return document.Identity{}, false
}

// hasKey reports whether a tool provider has the key of its type, if any.
func (r *toolStep) hasKey(provider document.Identity) bool {
	api := parse.APIToolRuntime.Name
	entry, _ := r.doc.ProviderOf(api, provider)
	row, known := r.line.Provider(api, entry.Type())
	return !known || row.Key == "" || !r.env.Given().IsEmpty(document.Child(entry.Config(), row.Key))
}

func (r *toolStep) namedToolProvider(t *parse.Tool, types []string) (document.Identity, bool) {
	provider, ok := r.namedProvider(parse.APIToolRuntime, r.doc.Lookup(parse.APIToolRuntime.Name, r.env.Given()),
		t.Provider, t.Path)
	if !ok {
		return provider, false
	}
	providerType := r.doc.TypeOf(parse.APIToolRuntime.Name, provider)
	if _, known := r.line.Provider(parse.APIToolRuntime.Name, providerType); known &&
		!slices.Contains(types, providerType) {
		r.problems.Add(problem.Problem{
			Reason: problem.InvalidField, Path: t.Path + ".provider", Type: field.ErrorTypeInvalid, Value: t.Provider,
			Detail: fmt.Sprintf("a provider of type %s does not support these tools", providerType),
			Fix:    "name one of type " + strings.Join(types, ", "),
		})
		return provider, false
	}
	if !r.env.Given().Enables(provider) {
		r.problems.Add(problem.Problem{
			Reason: problem.ProviderNotEnabled, Path: t.Path + ".provider", Type: field.ErrorTypeInvalid, Value: t.Provider,
			Detail: "is enabled only if an environment variable is set",
			Fix: "set that variable in spec.workload.overrides.env, or configure the provider under " +
				"spec.providers.toolRuntime",
		})
		return provider, false
	}
	return provider, true
}

// registeredWith returns the provider that the base registers a tool group with, or "".
func (r *toolStep) registeredWith(id string) string {
	return document.IdentityOf(document.Child(r.groupEntries[id], "provider_id")).ID
}

// registerToolGroup adds a tool group, or updates that of the base.
func (r *toolStep) registerToolGroup(id string, provider document.Identity) *yaml.Node {
	entry := overlayByID(r.doc.EnsureRegistered(ListToolGroups), r.groupEntries, "toolgroup_id", id)
	r.register(ListToolGroups, id)
	document.Set(entry, "provider_id", document.String(provider.Raw))
	return entry
}

// indexByID maps the texts under a key to the first entries with them.
func indexByID(list *yaml.Node, key string) map[string]*yaml.Node {
	entries := map[string]*yaml.Node{}
	for _, entry := range slices.Backward(document.Items(list)) {
		entries[document.Text(document.Child(entry, key))] = entry
	}
	return entries
}

// overlayByID returns the entry of a list with an id, and adds a missing one. known maps ids to entries.
func overlayByID(list *yaml.Node, known map[string]*yaml.Node, key, id string) *yaml.Node {
	if entry, ok := known[id]; ok {
		return entry
	}
	entry := &yaml.Node{Kind: yaml.MappingNode}
	document.Set(entry, key, document.String(id))
	list.Content = append(list.Content, entry)
	known[id] = entry
	return entry
}

// moveFirst moves a provider before others with the same tool group: some servers take the first one with a key.
func (r *toolStep) moveFirst(provider document.Identity, types []string) {
	list := r.doc.ProvidersOf(parse.APIToolRuntime.Name)
	serves := func(n *yaml.Node) bool {
		return slices.Contains(types, document.Text(document.Child(n, "provider_type")))
	}
	first := slices.IndexFunc(document.Items(list), serves)
	at := slices.IndexFunc(document.Items(list), func(n *yaml.Node) bool {
		return document.IdentityOf(document.Child(n, "provider_id")).ID == provider.ID
	})
	if first < 0 || at <= first {
		return
	}
	entry := list.Content[at]
	list.Content = slices.Insert(slices.Delete(list.Content, at, at+1), first, entry)
}
