// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// requested is what a resource requests, read independently of the configuration engine.
type requested struct {
	distribution string
	providers    []requestedProvider
	models       []requestedModel
	shields      []string
	tools        []string
	vectorStores []string
	// embeds means that vector stores have a default embedding model.
	embeds bool
	// disabled are the disabled APIs, by the server's names.
	disabled []string
}

type requestedProvider struct {
	// api is the server's name of the API.
	api, id, providerType string
	endpoint              string
	// key is the Secret and key of the API key as "name/key", or empty.
	key string
}

type requestedModel struct{ name, provider, modelType string }

// serves reports whether the model answers chats.
func (m requestedModel) serves() bool { return m.modelType == "" || m.modelType == "llm" }

func parseYAML(t *testing.T, content []byte) map[string]any {
	t.Helper()
	var tree map[string]any
	framework.NoError(t, yaml.Unmarshal(content, &tree))
	return tree
}

func readRequested(t *testing.T, content []byte) requested {
	t.Helper()
	spec, _ := at(parseYAML(t, content), "spec").(map[string]any)
	a := requested{distribution: cmp.Or(str(spec, "distribution", "name"), "starter")} // a sample names an image of the starter
	for _, name := range list(spec, "disabled") {
		a.disabled = append(a.disabled, snake(name.(string)))
	}
	for _, api := range []string{"inference", "safety", "vectorIo", "toolRuntime", "files", "fileProcessors", "batches"} {
		for _, entry := range oneOrMany(at(spec, "providers", api)) {
			a.providers = append(a.providers, readProvider(snake(api), entry))
		}
	}
	for _, entry := range list(spec, "resources", "models") {
		m := requestedModel{provider: a.firstOf("inference")}
		if name, ok := entry.(string); ok {
			m.name = name
		} else {
			m.name, m.modelType = str(entry, "name"), str(entry, "modelType")
			if provider := str(entry, "provider"); provider != "" {
				m.provider = provider
			}
		}
		a.models = append(a.models, m)
	}
	a.shields = namesIn(list(spec, "resources", "shields"), "id")
	a.tools = namesIn(list(spec, "resources", "tools"), "name")
	a.embeds = str(spec, "resources", "defaults", "embeddingModel") != ""
	a.vectorStores = namesIn(list(spec, "resources", "vectorStores"), "name")
	return a
}

func readProvider(api string, entry any) requestedProvider {
	p := requestedProvider{api: api, id: str(entry, "id"), providerType: str(entry, "provider"), endpoint: str(entry, "endpoint")}
	if from := at(entry, "endpointFrom"); from != nil { // there is no cluster that resolves it
		p.endpoint = "http://" + str(from, "name") + ".default." + strings.ToLower(str(from, "kind")) + ".invalid"
	}
	if p.id == "" {
		p.id = p.providerType[strings.LastIndex(p.providerType, ":")+1:]
	}
	ref := at(entry, "apiKey")
	if nested := at(ref, "secretKeyRef"); nested != nil {
		ref = nested
	}
	if ref != nil {
		p.key = str(ref, "name") + "/" + str(ref, "key")
	}
	return p
}

func (a requested) firstOf(api string) string {
	for _, p := range a.providers {
		if p.api == api {
			return p.id
		}
	}
	return ""
}

// is reports whether the server's type is the requested one. A short name matches a remote and an inline type.
func (p requestedProvider) is(providerType string) bool {
	return providerType == p.providerType || !strings.Contains(p.providerType, "::") &&
		slices.Contains([]string{"remote::" + p.providerType, "inline::" + p.providerType}, providerType)
}

func oneOrMany(value any) []any {
	switch value := value.(type) {
	case nil:
		return nil
	case []any:
		return value
	default:
		return []any{value}
	}
}

func namesIn(entries []any, field string) []string {
	var all []string
	for _, entry := range entries {
		if name, ok := entry.(string); ok {
			all = append(all, name)
		} else {
			all = append(all, str(entry, field))
		}
	}
	return all
}

func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
