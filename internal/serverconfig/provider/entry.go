// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// template is the base's entry that a provider's entry starts from.
type template struct {
	// entry is nil if the base has no suitable one.
	entry *yaml.Node
	// sameID means that the entry has the provider's id, and so its data.
	sameID bool
}

// templateFor returns the base's entry with the provider's type and id, or else the first one of its type. That of an
// API with one provider keeps its data under another id.
func templateFor(base []*yaml.Node, p *Provider) template {
	var found template
	for _, n := range base {
		if entry := (document.Entry{Node: n}); entry.Type() != p.name {
			continue
		} else if entry.Identity().ID == p.ID() || p.line.HasOneProvider(p.api) {
			return template{entry: n, sameID: true}
		}
		if found.entry == nil {
			found.entry = n
		}
	}
	return found
}

// entry creates the provider's entry, with missing stores in a backend of doc and files beside those of its base.
func (p *Provider) entry(from template, doc *document.Document) *yaml.Node {
	entry := &yaml.Node{Kind: yaml.MappingNode}
	if from.entry != nil {
		entry = document.Clone(from.entry)
	}
	document.Set(entry, "provider_id", document.String(p.ID()))
	document.Set(entry, "provider_type", document.String(p.name))
	config := document.Child(entry, "config")
	if config == nil {
		config = &yaml.Node{Kind: yaml.MappingNode}
	}
	at := locations{schema: p.schema, id: p.ID()}
	if !from.sameID {
		at.separate(config)
	}
	for _, a := range p.assignments {
		p.dropAliases(config, a.field)
	}
	into := document.NewMapIndex(config)
	for _, a := range p.assignments {
		into.Set(a.field, a.value)
	}
	settings := make(map[string]any, len(p.spec.Settings))
	for key, value := range p.spec.Settings {
		name := p.canonical(key)
		p.dropAliases(config, name)
		settings[name] = value
	}
	document.Merge(config, settings)
	p.dropOtherKinds(config, settings)
	at.fillRequired(config, doc.Base().Root(), doc.Root())
	if len(config.Content) > 0 {
		document.Set(entry, "config", config)
	}
	return entry
}
