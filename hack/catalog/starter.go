// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// The order of keys in a base; other keys follow alphabetically.
var (
	sectionOrder = []string{
		"version", "distro_name", "image_name", "server", "apis", "providers", "storage", "registered_resources", "vector_stores", "safety",
	}
	apiOrder = []string{
		"inference", "safety", "vector_io", "tool_runtime", "responses", "agents", "messages", "interactions", "skills", "files",
		"file_processors", "batches", "datasetio", "eval", "scoring", "post_training",
	}
	entryOrder   = []string{"model_id", "shield_id", "toolgroup_id", "provider_id", "provider_type", "type"}
	backendOrder = []string{"backend", "namespace", "table_name"}
)

// The comments above the groups of providers of an API.
var groupComments = []string{
	"# Enabled if the variable in the id is set.",
	"# Always enabled.",
	"# In the server's own process.",
}

const (
	conditional = iota
	always
	inProcess
)

// encodeBase returns a base configuration in the project's format, with its origin in the header.
func encodeBase(line *catalog.Line, config map[string]any, origin string) ([]byte, error) {
	root := mapping()
	for _, section := range ordered(config, sectionOrder) {
		value := config[section]
		switch section {
		case "apis":
			apis, ok := value.([]any)
			if !ok {
				return nil, fmt.Errorf("apis is %T", value)
			}
			apis = slices.Clone(apis)
			slices.SortFunc(apis, func(a, b any) int { return byOrder(apiOrder)(fmt.Sprint(a), fmt.Sprint(b)) })
			appendField(root, section, plainNode(apis))
		case "providers":
			providers, err := providersNode(line, value)
			if err != nil {
				return nil, err
			}
			appendField(root, section, providers)
		default:
			appendField(root, section, plainNode(value))
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s# %s\n", license, generatedMark)
	fmt.Fprintf(&b, "# %s\n", origin)
	b.WriteString(
		"# The server resolves every ${env.…}. A provider with an empty id is disabled, and omitted settings have the server's\n" +
			"# defaults. The operator merges providers, resources and storage of a custom resource into this configuration.\n",
	)
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(root); err != nil {
		return nil, err
	}
	return b.Bytes(), encoder.Close()
}

func providersNode(line *catalog.Line, value any) (*yaml.Node, error) {
	byAPI, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("providers is %T", value)
	}
	node := mapping()
	for _, api := range ordered(byAPI, apiOrder) {
		entries, ok := byAPI[api].([]any)
		if !ok {
			return nil, fmt.Errorf("providers.%s is %T", api, byAPI[api])
		}
		slices.SortStableFunc(entries, func(a, b any) int { return cmp.Compare(group(a), group(b)) })
		list, last := &yaml.Node{Kind: yaml.SequenceNode}, -1
		for _, each := range entries {
			entry, ok := each.(map[string]any)
			if !ok {
				return nil, fmt.Errorf("a provider of %s is %T", api, each)
			}
			item := entryNode(line, api, entry)
			if api == "inference" && group(each) != last {
				last = group(each)
				item.HeadComment = groupComments[last]
			}
			list.Content = append(list.Content, item)
		}
		appendField(node, api, list)
	}
	return node, nil
}

// group returns the index of the comment that says when a provider is enabled.
func group(entry any) int {
	fields, _ := entry.(map[string]any)
	id, _ := fields["provider_id"].(string)
	providerType, _ := fields["provider_type"].(string)
	switch {
	case strings.HasPrefix(id, "${env."):
		return conditional
	case strings.HasPrefix(providerType, "inline::"):
		return inProcess
	default:
		return always
	}
}

// entryNode returns a provider's node, with the address first, then the key, and the storage location last.
func entryNode(line *catalog.Line, api string, entry map[string]any) *yaml.Node {
	node := mapping()
	providerType, _ := entry["provider_type"].(string)
	row, known := line.Provider(api, providerType)
	for _, key := range ordered(entry, entryOrder) {
		config, isMap := entry[key].(map[string]any)
		if key != "config" || !isMap || !known {
			appendField(node, key, plainNode(entry[key]))
			continue
		}
		first := []string{row.Key}
		if row.Endpoint != nil {
			first = []string{row.Endpoint.Field, row.Endpoint.PortField, row.Key}
		}
		storageLast := func(name string) int {
			if row.Fields[name].Store != "" {
				return 1
			}
			return 0
		}
		names := ordered(config, first)
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(storageLast(a), storageLast(b)) })
		fields := mapping()
		for _, name := range names {
			appendField(fields, name, plainNode(config[name]))
		}
		appendField(node, key, fields)
	}
	return node
}

// plainNode returns the node of a value from the package, with keys in the project's order.
func plainNode(value any) *yaml.Node {
	switch v := value.(type) {
	case map[string]any:
		node := mapping()
		for _, key := range ordered(v, append(slices.Clone(entryOrder), backendOrder...)) {
			appendField(node, key, plainNode(v[key]))
		}
		return node
	case []any:
		node := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range v {
			node.Content = append(node.Content, plainNode(item))
		}
		if len(v) == 0 {
			node.Style = yaml.FlowStyle
		}
		return node
	case json.Number:
		return scalar(plainNumber(v))
	default:
		return scalar(v)
	}
}

func scalar(value any) *yaml.Node {
	node := &yaml.Node{}
	if err := node.Encode(value); err != nil {
		// Strings, numbers, booleans and null cannot fail.
		panic(fmt.Sprintf("catalog: %v", err))
	}
	return node
}

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode} }

func appendField(node *yaml.Node, key string, value *yaml.Node) {
	node.Content = append(node.Content, scalar(key), value)
}

// ordered returns the keys of a map: first those in order, then the others alphabetically.
func ordered(m map[string]any, order []string) []string {
	return slices.SortedFunc(maps.Keys(m), byOrder(order))
}

func byOrder(order []string) func(a, b string) int {
	position := func(key string) int {
		if at := slices.Index(order, key); at >= 0 {
			return at
		}
		return len(order)
	}
	return func(a, b string) int { return cmp.Or(cmp.Compare(position(a), position(b)), strings.Compare(a, b)) }
}
