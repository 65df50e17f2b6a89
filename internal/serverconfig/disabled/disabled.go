// SPDX-License-Identifier: Apache-2.0

package disabled

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/resource"
)

// removal removes APIs, providers and references to them from a configuration.
type removal struct {
	doc      *document.Document
	line     *catalog.Line
	groups   []parse.ProviderGroup
	uses     []resource.Use
	problems *problem.Collector
	apis     []string
	// ids are the ids of the removed providers, by API.
	ids map[string][]string
	// dependents are the APIs and providers that were also removed, for the warning.
	dependents []string
}

// Input is the input of Apply.
type Input struct {
	// Document is the configuration with the spec applied.
	Document *document.Document
	Line     *catalog.Line
	// APIs are the APIs in spec.disabled.
	APIs []string
	// Providers are the providers of the spec, and Uses those that its resources use.
	Providers []parse.ProviderGroup
	Uses      []resource.Use
}

// Apply removes the disabled APIs and their dependents from the configuration.
func Apply(in *Input, problems *problem.Collector) {
	if len(in.APIs) == 0 {
		return
	}
	r := &removal{doc: in.Document, line: in.Line, groups: in.Providers, uses: in.Uses, problems: problems,
		ids: map[string][]string{}}
	r.listAPIs()
	for _, api := range in.APIs {
		r.removeAPI(api)
	}
	for r.removeDependents() {
	}
	r.removeReferences()
	if apis := r.doc.APIs(); apis != nil && len(apis.Content) == 0 && r.line.APIsMustBeServed {
		problems.Add(problem.Problem{
			Reason: problem.DisabledAPI, Path: "spec.disabled", Type: field.ErrorTypeInvalid,
			Detail: "disables every API of the server", Fix: "remove an API from it",
		})
	}
	if len(r.dependents) > 0 {
		slices.Sort(r.dependents)
		problems.Add(problem.Problem{
			Reason: problem.DisabledAPI, Severity: problem.Warning, Path: "spec.disabled",
			Detail: "also disables these dependents of the disabled APIs: " + limits.Names(r.dependents),
			Fix:    "to keep them, remove the API that they need from the list; to confirm, add the APIs among them to the list",
		})
	}
}

// listAPIs writes the list of all served APIs if the configuration has none, so that APIs can be removed from it. An
// API with a registry needs no provider.
func (r *removal) listAPIs() {
	apis := r.doc.APIs()
	if apis != nil && (len(apis.Content) > 0 || !r.line.APIsMustBeServed) {
		return
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, api := range r.line.APINames() {
		if r.line.APIs[api].Table != "" || r.doc.HasProvider(api) {
			list.Content = append(list.Content, document.String(api))
		}
	}
	if !r.line.APIsMustBeServed {
		for _, api := range r.line.InternalAPIs {
			list.Content = append(list.Content, document.String(api))
		}
	}
	document.Set(r.doc.Root(), "apis", list)
}

func (r *removal) isRemoved(api string) bool { return slices.Contains(r.apis, api) }

func (r *removal) removeAPI(api string) {
	if r.isRemoved(api) {
		return
	}
	r.apis = append(r.apis, api)
	table := r.line.APIs[api].Table
	if apis := r.doc.APIs(); apis != nil {
		apis.Content = slices.DeleteFunc(apis.Content, func(n *yaml.Node) bool {
			return n.Value == api || (table != "" && n.Value == table)
		})
	}
	r.ids[api] = append(r.ids[api], document.EffectiveIDs(r.doc.Identities(api))...)
	document.Drop(r.doc.Section("providers"), api)
}

// removeDependents removes providers that need a removed API, and then empty APIs, and reports whether it did.
func (r *removal) removeDependents() bool {
	removed := false
	providers := r.doc.Section("providers")
	for _, api := range document.Keys(providers) {
		list := document.Child(providers, api)
		var kept []*yaml.Node
		var ids []string
		for _, entry := range document.Items(list) {
			if r.mustRemove(api, entry) {
				ids = append(ids, document.IdentityOf(document.Child(entry, "provider_id")).ID)
			} else {
				kept = append(kept, entry)
			}
		}
		if len(ids) == 0 {
			continue
		}
		removed = true
		list.Content = kept
		r.ids[api] = append(r.ids[api], ids...)
		if r.doc.HasProvider(api) {
			r.dependents = append(r.dependents, fmt.Sprintf("%s of %s", limits.List(effective(ids), " and "), api))
			continue
		}
		r.removeAPI(api)
		r.dependents = append(r.dependents, api)
	}
	return removed
}

// mustRemove reports whether a provider needs a removed API, and adds an error if the spec configures or uses it.
func (r *removal) mustRemove(api string, entry *yaml.Node) bool {
	row, known := r.line.Provider(api, document.Text(document.Child(entry, "provider_type")))
	id := document.IdentityOf(document.Child(entry, "provider_id"))
	if !known || id.Presence == document.Disabled {
		return false
	}
	needed := slices.IndexFunc(row.Needs, func(need string) bool {
		of, _ := r.line.APIOf(need)
		return r.isRemoved(of)
	})
	if needed < 0 {
		return false
	}
	for _, path := range r.configuredAt(api, id.ID) {
		r.problems.Add(problem.Problem{
			Reason: problem.DisabledAPI, Path: path, Type: field.ErrorTypeForbidden,
			Detail: fmt.Sprintf("cannot work without the API %s, which spec.disabled disables", row.Needs[needed]),
			Fix:    "remove it, or the API from spec.disabled",
		})
	}
	return true
}

// configuredAt returns the fields of the spec that configure or use a provider.
func (r *removal) configuredAt(api, id string) []string {
	var paths []string
	if p := parse.Find(r.groups, api, id); p != nil {
		paths = append(paths, p.Path)
	}
	for _, use := range r.uses {
		if use.API == api && use.ID == id {
			paths = append(paths, use.Path)
		}
	}
	return paths
}

// effective returns the ids for a message; an id that only the environment defines becomes "a provider".
func effective(ids []string) []string {
	named := make([]string, len(ids))
	for i, id := range ids {
		if named[i] = id; id == "" {
			named[i] = "a provider"
		}
	}
	slices.Sort(named)
	return slices.Compact(named)
}

// removeReferences removes sections, registered resources and defaults that refer to removed APIs or providers.
func (r *removal) removeReferences() {
	for _, api := range r.apis {
		if section := sectionOf[api]; section != "" {
			document.Drop(r.doc.Root(), section)
		}
	}
	resources := r.doc.Section("registered_resources")
	shields := slices.Clone(document.Items(document.Child(resources, "shields")))
	for _, name := range document.Keys(resources) {
		api, ok := resource.ProviderAPIs[name]
		if !ok {
			continue
		}
		if r.isRemoved(api) {
			document.Drop(resources, name)
			continue
		}
		if list := document.Child(resources, name); list != nil {
			list.Content = slices.DeleteFunc(list.Content, func(entry *yaml.Node) bool {
				return r.refersToRemoved(api, document.Child(entry, "provider_id"))
			})
		}
	}
	r.removeDefaults()
	r.removeShieldDefault(shields)
}

// refersToRemoved reports whether a reference names a removed provider.
func (r *removal) refersToRemoved(api string, ref *yaml.Node) bool {
	name := document.IdentityOf(ref).ID
	if name == "" || !slices.Contains(r.ids[api], name) {
		return false
	}
	_, another := document.FindIdentity(r.doc.Identities(api), name)
	return !another
}

func (r *removal) removeDefaults() {
	defaults := r.doc.Section("vector_stores")
	if r.refersToRemoved("vector_io", document.Child(defaults, "default_provider_id")) {
		document.Drop(defaults, "default_provider_id")
	}
	for _, ref := range resource.ModelReferences {
		holder := document.Descend(defaults, ref.Path[:len(ref.Path)-1])
		last := ref.Path[len(ref.Path)-1]
		if r.isRemoved("inference") ||
			r.refersToRemoved("inference", document.Child(document.Child(holder, last), "provider_id")) {
			document.Drop(holder, last)
		}
	}
}

// removeShieldDefault removes the default shield if its shield was removed.
func (r *removal) removeShieldDefault(before []*yaml.Node) {
	safety := r.doc.Section("safety")
	name := document.Text(document.Child(safety, "default_shield_id"))
	named := func(n *yaml.Node) bool { return document.Text(document.Child(n, "shield_id")) == name }
	after := document.Items(r.doc.Registered("shields"))
	if name != "" && slices.ContainsFunc(before, named) && !slices.ContainsFunc(after, named) {
		document.Drop(safety, "default_shield_id")
	}
}
