// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"encoding/json"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/address"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// redacted replaces a secret, as in the server's responses.
const redacted = "********"

// Entry is a generated provider of the spec.
type Entry struct {
	API string
	ID  string
	// Type is the provider_type: "remote::vllm".
	Type string
	// Config is the provider's config with ${env.…} for secrets.
	Config json.RawMessage
}

// statusEntry returns the status entry: the config without secrets.
func (p *Provider) statusEntry(entry *yaml.Node) Entry {
	config := json.RawMessage("{}")
	if c := document.Child(entry, "config"); c != nil {
		c = document.Clone(c)
		redact(p.schema, c, p.fields())
		if encoded, err := json.Marshal(document.Plain(c)); err == nil {
			config = encoded
		}
	}
	return Entry{API: p.api, ID: p.ID(), Type: p.name, Config: config}
}

// redact replaces literal secrets in the config, which it finds by the catalog or by name.
func redact(s schema, config *yaml.Node, fields map[string]catalog.Field) {
	for key, value := range document.Members(config) {
		def, known := fields[key]
		byName := !known && value.Kind == yaml.ScalarNode && secretName.MatchString(key)
		if (def.Secret || byName) && !document.IsNull(value) && !document.IsReference(value.Value) {
			*value = *document.String(redacted)
		} else {
			redact(s, value, s.inner(def))
		}
	}
	for _, item := range document.Items(config) {
		redact(s, item, fields)
	}
	if url := document.Text(config); schemePattern.MatchString(url) &&
		(hasCredential(url) || address.HasUserInfo(url)) {
		*config = *document.String(redacted)
	}
}
