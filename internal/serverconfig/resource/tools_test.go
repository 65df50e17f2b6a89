// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

const tools = "spec.resources.tools"

func usesTool(id string) string { return "tool_runtime/" + id + " " + tools + "[0]\n" }

// Proves: FR-043, R10, R37.
func TestApplyRegistersToolGroups(t *testing.T) {
	const (
		brave  = "{provider_id: b, provider_type: remote::brave-search, config: {api_key: k}}"
		tavily = "{provider_id: t, provider_type: remote::tavily-search, config: {api_key: '${env.TAVILY_KEY:=}'}}"
		base   = "providers: {tool_runtime: [" + tavily + ", " + brave + "]}\n"
		noKey  = "Warning MissingField spec.resources.tools[0]\n"
	)
	group := func(id string) string {
		return "{tool_groups: [{toolgroup_id: builtin::websearch, provider_id: " + id + "}]}"
	}
	run(t, "registered_resources", map[string]testCase{
		"nothing":                 {line: "0.6", base: base, spec: "{}", want: absent},
		"the provider with a key": {line: "0.6", base: base, spec: "resources: {tools: [websearch]}", want: group("b"), uses: usesTool("b")},
		"its full name":           {line: "0.6", base: base, spec: "resources: {tools: ['builtin::websearch']}", want: group("b"), uses: usesTool("b")},
		"the first, without any key": {
			line: "0.6", base: "providers: {tool_runtime: [" + tavily + ", {provider_id: o, provider_type: remote::brave-search}]}\n", spec: "resources: {tools: [websearch]}",
			want: group("t"), uses: usesTool("t"), problems: noKey,
		},
		"the one that the base registers": {
			line: "0.6", spec: "resources: {tools: [websearch]}", want: group("c"), uses: usesTool("c"),
			base: "providers: {tool_runtime: [" + brave + ", " + strings.Replace(brave, "id: b", "id: c", 1) + "]}\n" +
				"registered_resources: {tool_groups: [{toolgroup_id: builtin::websearch, provider_id: c}]}\n",
		},
		"the one of the spec": {
			line: "0.6", base: base, want: group("t"), uses: usesTool("t"), problems: noKey,
			spec: "{providers: {inference: {provider: vllm}, toolRuntime: [{provider: x, id: z}, {provider: tavily-search, id: t}]}, resources: {tools: [websearch]}}",
		},
		"a provider of another API is not of the spec's tools": {
			line: "0.6", base: base, want: group("b"), uses: usesTool("b"), spec: "{providers: {inference: {provider: vllm, id: t}}, resources: {tools: [websearch]}}",
		},
		"the one that it names": {
			line: "0.6", base: base, spec: "resources: {tools: [{name: websearch, provider: t}]}", want: group("t"), uses: usesTool("t"), problems: noKey,
		},
		"an unknown one": {
			line: "0.6", base: base, spec: "resources: {tools: [{name: websearch, provider: x}]}", want: absent,
			problems: "UnknownProvider spec.resources.tools[0].provider\n",
		},
		"one of other tools": {
			line: "0.6", base: "providers: {tool_runtime: [{provider_id: w, provider_type: remote::wolfram-alpha}]}\n",
			spec: "resources: {tools: [{name: websearch, provider: w}]}", want: absent,
			problems: "InvalidField spec.resources.tools[0].provider\n",
		},
		"an unknown tool": {
			line: "0.6", base: "providers: {tool_runtime: [{provider_id: w, provider_type: remote::own}]}\n",
			spec: "resources: {tools: [{name: websearch, provider: w}]}", want: group("w"), uses: usesTool("w"),
		},
		"one that may be off": {
			line: "0.6", base: "providers: {tool_runtime: [{provider_id: '${env.C:+b}', provider_type: remote::brave-search}]}\n",
			spec: "resources: {tools: [{name: websearch, provider: b}]}", want: absent,
			problems: "ProviderNotEnabled spec.resources.tools[0].provider\n",
		},
		"none that is always there": {
			line: "0.6", base: "providers: {tool_runtime: [{provider_id: '${env.C:+b}', provider_type: remote::brave-search}]}\n",
			spec: "resources: {tools: [websearch]}", want: absent, problems: "ProviderNotEnabled spec.resources.tools[0]\n",
		},
		"twice": {
			line: "0.6", base: base, spec: "resources: {tools: [websearch, {name: 'builtin::websearch'}]}", want: group("b"), uses: usesTool("b"),
			problems: "ConflictingFields spec.resources.tools[1]\n",
		},
		"an endpoint": {
			line: "0.6", base: base, spec: "resources: {tools: [{name: websearch, endpoint: 'http://x'}]}", want: absent,
			problems: "UnknownField spec.resources.tools[0].endpoint\n",
		},
		"unknown tools": {
			line: "0.6", base: base, spec: "resources: {tools: [nonsense]}", want: absent,
			problems: "InvalidField spec.resources.tools[0]\n",
		},
		"unknown tools of a provider that it names": {
			line: "0.6", base: "providers: {tool_runtime: [{provider_id: w, provider_type: remote::own}]}\n", spec: "resources: {tools: [{name: own, provider: w}]}",
			want: "{tool_groups: [{toolgroup_id: builtin::own, provider_id: w}]}", uses: usesTool("w"),
		},
		"a release line without tools": {
			line: "0.6", base: base, spec: "resources: {tools: [websearch]}", want: absent, change: func(l *catalog.Line) { l.APIs = nil },
			problems: "UnsupportedByRelease spec.resources.tools\n",
		},
		"no tools of a release line without tools": {line: "0.6", base: base, spec: "{}", want: absent, change: func(l *catalog.Line) { l.APIs = nil }},
	})
}

// If the release line creates tool groups itself, it uses the first provider, so the chosen one moves to the front.
//
// Proves: FR-043, R37.
func TestApplyPutsTheProviderOfToolsFirst(t *testing.T) {
	entry := func(id, kind string) string {
		return "{provider_id: " + id + ", provider_type: remote::" + kind + ", config: {api_key: k}}"
	}
	list := func(ids ...string) string {
		kinds := map[string]string{"w": "wolfram-alpha", "b": "brave-search", "t": "tavily-search", "g": "bing-search"}
		entries := make([]string, len(ids))
		for i, id := range ids {
			entries[i] = entry(id, kinds[id])
		}
		return "{tool_runtime: [" + strings.Join(entries, ", ") + "]}"
	}
	run(t, "providers", map[string]testCase{
		"the first stays": {base: "providers: " + list("w", "b", "t") + "\n", spec: "resources: {tools: [websearch]}", want: list("w", "b", "t"), uses: usesTool("b")},
		"a later one moves before those of the same tools": {
			base: "providers: " + list("w", "b", "g", "t") + "\n", spec: "resources: {tools: [{name: websearch, provider: t}]}", want: list("w", "t", "b", "g"), uses: usesTool("t"),
		},
		"a later one moves to the very front": {
			base: "providers: " + list("b", "w", "t") + "\n", spec: "resources: {tools: [{name: websearch, provider: t}]}", want: list("t", "b", "w"), uses: usesTool("t"),
		},
		"unknown tools have no provider": {
			base: "providers: " + list("w") + "\n", spec: "resources: {tools: [{name: nonsense, provider: w}]}", want: list("w"),
			problems: "InvalidField spec.resources.tools[0]\n",
		},
	})
}

// Proves: FR-043, R10.
func TestApplyNamesToolGroupsAsTheReleaseLineDoes(t *testing.T) {
	for line, want := range map[string]string{"0.3": "builtin::rag", "0.6": "builtin::file_search"} {
		for _, name := range []string{"rag", "file_search", "builtin::rag"} {
			c := testCase{line: line, spec: "resources: {tools: [" + name + "]}", base: `
providers:
  tool_runtime: [{provider_id: r, provider_type: inline::rag-runtime}, {provider_id: f, provider_type: inline::file-search}]
`}
			found := &problem.Collector{}
			configuration, _ := c.apply(t.Context(), t, found)
			if len(step.Line(t, line).ToolGroupProviders(want)) > 0 && !strings.Contains(configuration, "toolgroup_id: "+want) {
				t.Errorf("%s on %s: %s\n%s", name, line, configuration, step.Texts(found))
			}
		}
	}
}

const mcpType = "remote::model-context-protocol"

// Proves: FR-043, R10.
func TestApplyCreatesToolGroupsForMCPServers(t *testing.T) {
	const server = "providers: {tool_runtime: [{provider_id: m, provider_type: " + mcpType + "}]}\n"
	group := func(provider string) string {
		return "{tool_groups: [{toolgroup_id: 'mcp::github', provider_id: " + provider + ", mcp_endpoint: {uri: 'http://g'}}]}"
	}
	const tool = "resources: {tools: [{name: 'mcp::github', endpoint: 'http://g'}]}"
	run(t, "registered_resources", map[string]testCase{
		"the base's provider": {line: "0.6", base: server, spec: tool, want: group("m"), uses: usesTool("m")},
		"a provider is added": {line: "0.6", base: "", spec: tool, want: group("model-context-protocol"), uses: usesTool("model-context-protocol")},
		"a provider is added beside others": {
			line: "0.6", base: "providers: {tool_runtime: [{provider_id: b, provider_type: remote::brave-search}]}\n", spec: tool,
			want: group("model-context-protocol"), uses: usesTool("model-context-protocol"),
		},
		"a release line without providers of MCP servers": {
			line: "0.6", base: "", spec: tool, want: absent, change: func(l *catalog.Line) { l.Rows = nil },
			problems: "ProviderNotEnabled spec.resources.tools[0]\n",
		},
		"one that is off is turned on": {
			line: "0.6", base: "providers: {tool_runtime: [{provider_id: '${env.C:+model-context-protocol}', provider_type: " + mcpType + "}]}\n", spec: tool,
			want: group("model-context-protocol"), uses: usesTool("model-context-protocol"),
		},
		"another provider has the name": {
			line: "0.6", base: "providers: {tool_runtime: [{provider_id: model-context-protocol, provider_type: remote::own}]}\n", spec: tool, want: absent,
			problems: "ConflictingFields spec.resources.tools[0]\n",
		},
		"the provider that it names": {
			line: "0.6", base: "providers: {tool_runtime: [{provider_id: m, provider_type: " + mcpType + "}, {provider_id: o, provider_type: " + mcpType + "}]}\n",
			spec: "resources: {tools: [{name: 'mcp::github', endpoint: 'http://g', provider: o}]}", want: group("o"), uses: usesTool("o"),
		},
		"the provider of its name, with the address": {
			line: "0.6", base: "providers: {tool_runtime: [{provider_id: m, provider_type: " + mcpType + "}, {provider_id: github, provider_type: " + mcpType + "}]}\n",
			spec: "{providers: {toolRuntime: {provider: model-context-protocol, id: github, endpoint: 'http://g'}}, resources: {tools: ['mcp::github']}}",
			want: group("github"), uses: usesTool("github"),
		},
		"a provider of its name for something else": {
			line: "0.6", base: server, spec: "{providers: {toolRuntime: {provider: brave-search, id: github, endpoint: 'http://g'}}, resources: {tools: ['mcp::github']}}", want: absent,
			problems: "MissingField spec.resources.tools[0].endpoint\n",
		},
		"a provider that it names, beside the one of its name": {
			line: "0.6", base: "providers: {tool_runtime: [{provider_id: m, provider_type: " + mcpType + "}, {provider_id: github, provider_type: " + mcpType + "}]}\n",
			spec: "{providers: {toolRuntime: {provider: model-context-protocol, id: github, endpoint: 'http://g'}}, resources: {tools: [{name: 'mcp::github', provider: m}]}}",
			want: group("m"), uses: usesTool("m"),
		},
		"an address that is not one": {
			line: "0.6", base: server, spec: "resources: {tools: [{name: 'mcp::github', endpoint: 'g:1'}]}", want: absent,
			problems: "InvalidField spec.resources.tools[0].endpoint\n",
		},
		"an id that is not one": {
			line: "0.6", base: server, spec: "resources: {tools: [{name: 'mcp::a/b', endpoint: 'http://g'}]}", want: absent,
			problems: "InvalidField spec.resources.tools[0]\n",
		},
	})
}

// Proves: FR-043, R10.
func TestApplyCreatesConnectorsForMCPServers(t *testing.T) {
	const tool = "resources: {tools: [{name: 'mcp::github', endpoint: 'http://g'}]}"
	connector := func(id string) string { return "{connector_id: " + id + ", connector_type: mcp, url: 'http://g'}" }
	run(t, "connectors", map[string]testCase{
		"after those of the base": {
			line: "1.0", base: "connectors: [{connector_id: x}]\n", spec: tool, want: "[{connector_id: x}, " + connector("github") + "]",
		},
		"over that of the base": {
			line: "1.0", base: "connectors: [{connector_id: github, url: old, server_label: kept}]\n", spec: tool,
			want: "[{connector_id: github, url: 'http://g', server_label: kept, connector_type: mcp}]",
		},
		"a provider has no effect": {
			line: "1.0", base: "", spec: "resources: {tools: [{name: 'mcp::github', endpoint: 'http://g', provider: x}]}", want: "[" + connector("github") + "]",
			problems: "Warning NoEffect spec.resources.tools[0].provider\n",
		},
		"a release line without connectors": {
			line: "1.0", base: "", spec: tool, want: absent, change: func(l *catalog.Line) { l.Sections = nil },
			problems: "InvalidField spec.resources.tools[0]\n",
		},
	})
}

func TestApplyWarnsOfUnusedMCPServers(t *testing.T) {
	const spec = "{providers: {inference: {provider: vllm, id: v, endpoint: 'http://x'}, toolRuntime: [{provider: model-context-protocol, id: a, endpoint: 'http://a'}, " +
		"{provider: model-context-protocol, id: b}, {provider: brave-search, id: c, endpoint: 'http://c'}, {provider: own, id: d, endpoint: 'http://d'}, " +
		"{provider: model-context-protocol, id: e, endpoint: 'http://e'}]}, resources: {tools: [{name: 'mcp::e'}]}}"
	found := &problem.Collector{}
	(&testCase{line: "0.6", base: "providers: {tool_runtime: [{provider_id: e, provider_type: " + mcpType + "}]}\n", spec: spec}).apply(t.Context(), t, found)
	step.Problems(t, "", found, "Warning NoEffect spec.providers.toolRuntime[0].endpoint\n")
}

// A missing key is not reported if a tool provider of the spec is invalid.
func TestApplyDoesNotWarnOfKeysOfInvalidProvider(t *testing.T) {
	c := testCase{line: "0.6", base: "providers: {tool_runtime: [{provider_id: b, provider_type: remote::brave-search}]}\n", spec: "resources: {tools: [websearch]}"}
	for path, want := range map[string]int{"spec.providers.toolRuntime.provider": 0, "spec.providers.inference.provider": 1} {
		found := &problem.Collector{}
		found.Add(problem.Problem{Reason: problem.InvalidField, Path: path})
		c.apply(t.Context(), t, found)
		if got := strings.Count(step.Reasons(found), "MissingField"); got != want {
			t.Errorf("with a problem at %s: %s", path, step.Reasons(found))
		}
	}
}

func TestApplyListsExistingTools(t *testing.T) {
	for spec, want := range map[string]string{
		"resources: {tools: [websearh]}":    "InvalidField spec.resources.tools[0]\n",
		"resources: {tools: [websearch]}":   "ProviderNotEnabled spec.resources.tools[0]\n",
		"resources: {tools: [file_search]}": "ProviderNotEnabled spec.resources.tools[0]\n",
	} {
		found := &problem.Collector{}
		(&testCase{spec: spec, base: "providers: {tool_runtime: [{provider_id: '${env.C:+f}', provider_type: inline::file-search}]}\n"}).apply(t.Context(), t, found)
		step.Problems(t, spec, found, want)
	}
}
