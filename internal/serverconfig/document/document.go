// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"iter"
	"slices"

	"go.yaml.in/yaml/v3"
)

const (
	keyVersion       = "version"
	sectionAPIs      = "apis"
	sectionProviders = "providers"
	sectionResources = "registered_resources"
	sectionStorage   = "storage"
)

// Document is an editable copy of a base, for one goroutine.
type Document struct {
	base *Base
	root *yaml.Node
}

// Edit returns an editable copy of the base.
func (b *Base) Edit() *Document { return &Document{base: b, root: Clone(b.root)} }

// Base returns the base that the document is a copy of.
func (d *Document) Base() *Base { return d.base }

// Root returns the whole tree.
func (d *Document) Root() *yaml.Node { return d.root }

// Section returns the value of a top-level key; nil if it is absent or null.
func (d *Document) Section(name string) *yaml.Node { return Child(d.root, name) }

// Version returns the schema version as text, and whether there is one. The server defaults to the current one.
func (d *Document) Version() (string, bool) {
	n := d.Section(keyVersion)
	return Text(n), n != nil
}

// APIs returns the list of served APIs, or nil. Without a list, the server serves all APIs.
func (d *Document) APIs() *yaml.Node { return d.Section(sectionAPIs) }

// EnableAPI adds an API to the list of served APIs, unless the list is absent or empty.
func (d *Document) EnableAPI(api string) {
	apis := d.APIs()
	if apis == nil || len(apis.Content) == 0 {
		return
	}
	if !slices.ContainsFunc(apis.Content, func(n *yaml.Node) bool { return n.Value == api }) {
		apis.Content = append(apis.Content, String(api))
	}
}

// Entry is a provider of a document.
type Entry struct {
	// API is the server's name of the API: "inference".
	API   string
	Index int
	Node  *yaml.Node
}

// Identity returns the id of the provider.
func (e Entry) Identity() Identity { return IdentityOf(Child(e.Node, "provider_id")) }

// Type returns the provider_type: "remote::vllm".
func (e Entry) Type() string { return Text(Child(e.Node, "provider_type")) }

// Config returns the configuration of the provider, or nil.
func (e Entry) Config() *yaml.Node { return Child(e.Node, "config") }

// Path returns the path of the entry: "providers.inference[0]".
func (e Entry) Path() string { return fmt.Sprintf("%s.%s[%d]", sectionProviders, e.API, e.Index) }

// Providers returns the providers of all APIs in order.
func (d *Document) Providers() iter.Seq[Entry] { return providers(d.root) }

func providers(root *yaml.Node) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for api, list := range Members(Child(root, sectionProviders)) {
			for i, n := range Items(list) {
				if !yield(Entry{API: api, Index: i, Node: n}) {
					return
				}
			}
		}
	}
}

// ProvidersOf returns the list of the providers of an API, or nil.
func (d *Document) ProvidersOf(api string) *yaml.Node { return Child(d.Section(sectionProviders), api) }

// EnsureProviders returns the list of the providers of an API, and creates an absent one.
func (d *Document) EnsureProviders(api string) *yaml.Node {
	return Ensure(Ensure(d.root, sectionProviders, yaml.MappingNode), api, yaml.SequenceNode)
}

// PutProvider replaces all entries of the API with the same effective id, or appends the entry. A base can have
// several, with different conditions; the server would use the last one.
func (d *Document) PutProvider(api, id string, entry *yaml.Node) {
	list, placed := d.EnsureProviders(api), false
	var content []*yaml.Node
	for _, other := range list.Content {
		if IdentityOf(Child(other, "provider_id")).ID != id {
			content = append(content, other)
			continue
		}
		if !placed {
			content = append(content, entry)
			placed = true
		}
	}
	if !placed {
		content = append(content, entry)
	}
	list.Content = content
}

// ReplaceProviders replaces all entries of the API by one.
func (d *Document) ReplaceProviders(api string, entry *yaml.Node) {
	d.EnsureProviders(api).Content = []*yaml.Node{entry}
}

// Identities returns the ids of the providers of an API in order.
func (d *Document) Identities(api string) []Identity {
	var ids []Identity
	for _, entry := range Items(d.ProvidersOf(api)) {
		ids = append(ids, IdentityOf(Child(entry, "provider_id")))
	}
	return ids
}

// HasProvider reports whether an API has a provider that is not disabled.
func (d *Document) HasProvider(api string) bool {
	return slices.ContainsFunc(d.Identities(api), func(id Identity) bool { return id.Presence != Disabled })
}

// ProviderOf returns the entry of a provider, and whether it exists.
func (d *Document) ProviderOf(api string, provider Identity) (Entry, bool) {
	for i, n := range Items(d.ProvidersOf(api)) {
		if provider.ID != "" && Text(Child(n, "provider_id")) == provider.Raw {
			return Entry{API: api, Index: i, Node: n}, true
		}
	}
	return Entry{}, false
}

// TypeOf returns the provider_type of a provider, or "".
func (d *Document) TypeOf(api string, provider Identity) string {
	entry, _ := d.ProviderOf(api, provider)
	return entry.Type()
}

// ResourceLists returns the names of the lists of registered resources in order.
func (d *Document) ResourceLists() []string { return Keys(d.Section(sectionResources)) }

// Registered returns a list of registered resources, such as "models", or nil.
func (d *Document) Registered(list string) *yaml.Node {
	return Child(d.Section(sectionResources), list)
}

// EnsureRegistered returns a list of registered resources, and creates an absent one.
func (d *Document) EnsureRegistered(list string) *yaml.Node {
	return Ensure(Ensure(d.root, sectionResources, yaml.MappingNode), list, yaml.SequenceNode)
}

// Backends returns the storage backends by name, or nil.
func (d *Document) Backends() *yaml.Node { return Child(d.Section(sectionStorage), "backends") }

// Stores returns the stores by name, or nil.
func (d *Document) Stores() *yaml.Node { return Child(d.Section(sectionStorage), "stores") }

// ProviderName identifies a provider of a server.
type ProviderName struct {
	// API is the server's name of the API: "inference". ID is the provider_id.
	API, ID string
}

// EnabledProviders returns the providers that are enabled unconditionally or by a given variable, in file order.
func (d *Document) EnabledProviders(given Variables) []ProviderName {
	var names []ProviderName
	for entry := range d.Providers() {
		id := entry.Identity()
		ref, _ := WholeReference(id.Raw)
		if id.Presence == Unconditional || id.Presence == Conditional && ref.Operator == IfSet && given[ref.Name] {
			names = append(names, ProviderName{API: entry.API, ID: id.ID})
		}
	}
	return names
}
