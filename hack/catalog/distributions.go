// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

const (
	starter    = "starter"
	remoteVLLM = "remote-vllm"
)

// baseConfigs returns the base configurations of a release line by distribution. Broken or missing ones are composed
// from the distribution's own parts, which the package or the name defines, and those of starter.
func baseConfigs(line *catalog.Line, introspected *introspection) (map[string][]byte, error) {
	description := fmt.Sprintf("distribution of %s, release line %s: ", line.Package, line.Name)
	composed := map[string]map[string]any{remoteVLLM: compose(line, remoteVLLM, onlyVLLM(introspected.Starter), introspected.Starter)}
	origins := map[string]string{
		starter:    "Base config of the \"starter\" " + description + "providers, ids and values as packaged in " + line.Release + ".",
		remoteVLLM: "Base config of the \"remote-vllm\" distribution, which uses the image of \"starter\", release line " + line.Name + ": vLLM is the only remote inference provider.",
	}
	for name, config := range introspected.Distributions {
		composed[name] = compose(line, name, config, introspected.Starter)
		origins[name] = "Base config of the \"" + name + "\" " + description + "providers as packaged in " + line.Release + "; broken or missing settings are those of \"starter\"."
	}
	composed[starter] = introspected.Starter
	files := map[string][]byte{}
	for name, config := range composed {
		var err error
		if files[name], err = encodeBase(line, config, origins[name]); err != nil {
			return nil, fmt.Errorf("distribution %s: %w", name, err)
		}
	}
	return files, nil
}

// onlyVLLM returns starter's configuration with only vLLM and in-process providers for inference, and without models.
func onlyVLLM(config map[string]any) map[string]any {
	config = maps.Clone(config)
	providers := maps.Clone(object(config["providers"]))
	providers["inference"] = slices.DeleteFunc(slices.Clone(list(providers["inference"])), func(entry any) bool {
		providerType := text(entry, "provider_type")
		return providerType != "remote::vllm" && !strings.HasPrefix(providerType, "inline::")
	})
	config["providers"] = providers
	resources := maps.Clone(object(config["registered_resources"]))
	resources["models"] = []any{}
	config["registered_resources"] = resources
	return config
}

// compose returns a base configuration that starts: providers, storage backends and the model from the environment of
// the distribution, and all other settings and required APIs of starter, without references to missing parts.
func compose(line *catalog.Line, name string, distribution, starterConfig map[string]any) map[string]any {
	c := &composition{line: line, starter: object(starterConfig["providers"]), providers: map[string]any{}}
	for api, entries := range object(distribution["providers"]) {
		for _, entry := range list(entries) {
			c.add(api, c.entry(api, object(entry)))
		}
	}
	c.complete()
	config := maps.Clone(starterConfig)
	for _, key := range []string{"distro_name", "image_name"} {
		if _, exists := config[key]; exists {
			config[key] = name
		}
	}
	config["providers"], config["apis"] = c.providers, names(c.providers)
	config["storage"] = map[string]any{
		"backends": object(distribution["storage"])["backends"], "stores": object(starterConfig["storage"])["stores"],
	}
	config["registered_resources"] = c.resources(
		object(distribution["registered_resources"]),
		object(starterConfig["registered_resources"]),
	)
	c.dropDanglingDefaults(config)
	return object(replacePath(config, "distributions/"+starter, "distributions/"+name))
}

type composition struct {
	line      *catalog.Line
	starter   map[string]any // starter's providers
	providers map[string]any // the distribution's providers
}

func (c *composition) add(api string, entry map[string]any) {
	c.providers[api] = append(list(c.providers[api]), entry)
}

// entry returns a provider entry of the distribution. It is conditional on the variable that starter uses or the entry
// requires, and has starter's config if its own has unknown fields.
func (c *composition) entry(api string, packaged map[string]any) map[string]any {
	entry := maps.Clone(packaged)
	id, providerType := text(entry, "provider_id"), text(entry, "provider_type")
	if row, known := c.line.Provider(api, providerType); known {
		for field := range object(entry["config"]) {
			if _, known := row.Fields[field]; !known {
				entry["config"] = c.starterProvider(api, providerType)["config"]
				break
			}
		}
	}
	variable := ""
	if match := condition.FindStringSubmatch(text(c.starterProvider(api, providerType), "provider_id")); match != nil {
		variable = match[1]
	}
	config := object(entry["config"])
	for _, field := range slices.Sorted(maps.Keys(config)) {
		if required := requiredVariable.FindStringSubmatch(text(config, field)); required != nil {
			config = maps.Clone(config)
			config[field], variable = "${env."+required[1]+":=}", required[1]
			entry["config"] = config
		}
	}
	if variable != "" && !condition.MatchString(id) {
		entry["provider_id"] = "${env." + variable + ":+" + id + "}"
	}
	return entry
}

var (
	condition        = regexp.MustCompile(`^\$\{env\.([A-Z0-9_]+):\+(.*)}$`)
	requiredVariable = regexp.MustCompile(`^\$\{env\.([A-Z0-9_]+)}$`)
)

func (c *composition) starterProvider(api, providerType string) map[string]any {
	for _, entry := range list(c.starter[api]) {
		if text(entry, "provider_type") == providerType {
			return object(entry)
		}
	}
	return nil
}

// complete adds the APIs that the providers require, with the providers of starter that are always enabled.
func (c *composition) complete() {
	for missing := c.missingAPIs(); len(missing) > 0; missing = c.missingAPIs() {
		for _, api := range missing {
			c.providers[api] = slices.DeleteFunc(slices.Clone(list(c.starter[api])), func(entry any) bool {
				return condition.MatchString(text(entry, "provider_id"))
			})
		}
	}
}

// missingAPIs returns the missing APIs that providers require.
func (c *composition) missingAPIs() []string {
	var missing []string
	for api, entries := range c.providers {
		for _, entry := range list(entries) {
			row, known := c.line.Provider(api, text(entry, "provider_type"))
			if !known {
				continue
			}
			for _, need := range row.Needs {
				_, served := c.line.APIs[need]
				if _, exists := c.providers[need]; served && !exists {
					missing = append(missing, need)
				}
			}
		}
	}
	return missing
}

// has reports whether the distribution has the provider, conditional or not.
func (c *composition) has(api, id string) bool {
	return slices.ContainsFunc(list(c.providers[api]), func(entry any) bool {
		entryID := text(entry, "provider_id")
		if match := condition.FindStringSubmatch(entryID); match != nil {
			entryID = match[2]
		}
		return entryID == id
	})
}

// resources returns the resources of starter without models and without references to providers that the distribution
// does not have, and the distribution's model from the environment. Models of providers are listed without being
// registered.
func (c *composition) resources(distributionResources, starterResources map[string]any) map[string]any {
	resources := maps.Clone(starterResources)
	models := []any{}
	for _, model := range list(distributionResources["models"]) {
		if required := requiredVariable.FindStringSubmatch(text(model, "model_id")); required != nil {
			// Every release omits a model without a provider, and some reject an empty id.
			entry := maps.Clone(object(model))
			entry["model_id"] = "${env." + required[1] + ":=unset}"
			entry["provider_id"] = "${env." + required[1] + ":+" + text(model, "provider_id") + "}"
			models = append(models, entry)
		}
	}
	resources["models"] = models
	for table, api := range map[string]string{"shields": "safety", "tool_groups": "tool_runtime"} {
		if _, exists := resources[table]; !exists {
			continue
		}
		resources[table] = slices.DeleteFunc(slices.Clone(list(resources[table])), func(entry any) bool {
			id := text(entry, "provider_id")
			if match := condition.FindStringSubmatch(id); match != nil {
				id = match[2]
			}
			return !c.has(api, id)
		})
	}
	return resources
}

// dropDanglingDefaults removes defaults that refer to a provider or shield that the distribution does not have.
func (c *composition) dropDanglingDefaults(config map[string]any) {
	if section := maps.Clone(object(config["vector_stores"])); section != nil {
		if id, _ := section["default_provider_id"].(string); !c.has("vector_io", id) {
			delete(section, "default_provider_id")
		}
		for _, model := range []string{"default_embedding_model", "default_reranker_model"} {
			if !c.has("inference", text(section[model], "provider_id")) {
				delete(section, model)
			}
		}
		config["vector_stores"] = section
	}
	if len(list(object(config["registered_resources"])["shields"])) == 0 {
		delete(config, "safety")
	}
}

func names(providers map[string]any) []any {
	var apis []any
	for _, api := range slices.Sorted(maps.Keys(providers)) {
		apis = append(apis, api)
	}
	return apis
}

// replacePath returns a copy of a tree with a path replaced in its strings.
func replacePath(value any, from, to string) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, inner := range v {
			out[key] = replacePath(inner, from, to)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = replacePath(inner, from, to)
		}
		return out
	case string:
		return strings.ReplaceAll(v, from, to)
	default:
		return v
	}
}

func object(value any) map[string]any {
	m, _ := value.(map[string]any)
	return m
}

func list(value any) []any {
	l, _ := value.([]any)
	return l
}

func text(entry any, key string) string {
	s, _ := object(entry)[key].(string)
	return s
}
