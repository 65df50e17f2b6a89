// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

// builtinToolGroups is the prefix of tool groups that do not belong to an MCP server.
const builtinToolGroups = "builtin::"

// mcpAddress is an example address of an MCP server.
const mcpAddress = "http://mcp-github.tools.svc:8000/mcp"

// mcpCredential is the fix for a credential of an MCP server, which no release line has in its configuration.
const mcpCredential = "let clients give the credential with the tool in their requests"

// mcpIDPattern matches an id after mcp::. The server takes text after a slash for the name of a single tool.
var mcpIDPattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

type toolStep struct {
	*registration
	// connectors and groupEntries map ids to the entries of these lists.
	connectors, groupEntries map[string]*yaml.Node
}

// apply configures the tools of the spec: as registered tool groups, or with providers from which the server derives
// them. MCP servers become tool groups or connectors, depending on the release line.
func (r *toolStep) apply(tools []parse.Tool) {
	api := parse.APIToolRuntime.Name
	if _, ok := r.line.APIs[api]; !ok && len(tools) > 0 {
		r.problems.Add(release.MissingAPI(r.line, api, "spec.resources.tools"))
		return
	}
	r.connectors = indexByID(r.doc.Section(ListConnectors), "connector_id")
	r.groupEntries = indexByID(r.doc.Registered(ListToolGroups), "toolgroup_id")
	paths := make(map[string]string, len(tools))
	for i := range tools {
		if r.ctx.Err() != nil {
			return
		}
		t := &tools[i]
		id := toolGroup(r.line, t.Name)
		if at, twice := paths[id]; twice {
			r.problems.Add(problem.Problem{
				Reason: problem.ConflictingFields, Path: t.Path, Type: field.ErrorTypeDuplicate, Value: t.Name,
				Detail: "duplicates the tools of " + at,
				Fix:    "keep one of them",
			})
			continue
		}
		paths[id] = t.Path
		r.doc.EnableAPI(api)
		if name, isMCP := strings.CutPrefix(id, catalog.MCPToolGroups); isMCP {
			r.applyMCP(t, name)
		} else {
			r.applyBuiltin(t, id)
		}
	}
	r.warnUnusedEndpoints(paths)
}

// HasTool reports whether a release line supports a tool. All support those of MCP servers.
func HasTool(line *catalog.Line, t *parse.Tool) bool {
	id := toolGroup(line, t.Name)
	return strings.HasPrefix(id, catalog.MCPToolGroups) || len(line.ToolGroupProviders(id)) > 0 || t.Provider != "" &&
		line.RegistersToolGroups
}

// toolGroup returns the release line's name of a tool group: "websearch" is builtin::websearch, and builtin::rag became
// builtin::file_search.
func toolGroup(line *catalog.Line, name string) string {
	id := name
	if !strings.Contains(name, "::") {
		id = builtinToolGroups + name
	}
	if len(line.ToolGroupProviders(id)) == 0 {
		if other, ok := catalog.OtherToolGroup(id); ok {
			return other
		}
	}
	return id
}

func (r *toolStep) applyBuiltin(t *parse.Tool, id string) {
	if t.Endpoint != "" {
		r.problems.Add(problem.Problem{
			Reason: problem.UnknownField, Path: t.EndpointPath(), Type: field.ErrorTypeForbidden,
			Detail: "only tools of an MCP server have an endpoint",
			Fix:    "remove it, or name the tools mcp::<id>",
		})
		return
	}
	types := r.line.ToolGroupProviders(id)
	if len(types) == 0 && (t.Provider == "" || !r.line.RegistersToolGroups) {
		r.unknownTool(t)
		return
	}
	provider, ok := r.toolProvider(t, id, types)
	if !ok {
		return
	}
	r.uses = append(r.uses, Use{API: parse.APIToolRuntime.Name, ID: provider.ID, Path: t.Path})
	if !r.hasKey(provider) && !r.hasInvalidToolProvider() {
		r.problems.Add(problem.Problem{
			Reason: problem.MissingField, Severity: problem.Warning, Path: t.Path,
			Detail: "the provider of these tools has no key: they work only for clients that send one with their requests",
			Fix: "configure the provider under spec.providers.toolRuntime with apiKey: {name: <Secret>, key: <key within " +
				"it>}",
		})
	}
	if r.line.RegistersToolGroups {
		r.registerToolGroup(id, provider)
		return
	}
	r.moveFirst(provider, types)
}

// hasInvalidToolProvider reports whether a tool provider of the spec has an error: it may be the intended one.
func (r *toolStep) hasInvalidToolProvider() bool {
	return slices.ContainsFunc(r.problems.List(), func(p problem.Problem) bool {
		return p.Severity == problem.Error && strings.HasPrefix(p.Path, "spec.providers."+parse.APIToolRuntime.Field)
	})
}

// displayName returns the name of a tool for a problem, or nil for a possible URL, which may have credentials.
func displayName(name string) any {
	if strings.ContainsAny(name, "/@") {
		return nil
	}
	return name
}

func (r *toolStep) unknownTool(t *parse.Tool) {
	if r.problems.Full(problem.Error) {
		return
	}
	var known []string
	for _, id := range r.line.ToolGroups() {
		if id != catalog.MCPToolGroups {
			known = append(known, strings.TrimPrefix(id, builtinToolGroups))
		}
	}
	short := strings.TrimPrefix(t.Name, builtinToolGroups)
	r.problems.Add(problem.Problem{
		Reason: problem.InvalidField, Path: t.Path, Type: field.ErrorTypeNotFound, Value: displayName(t.Name),
		Detail: fmt.Sprintf("release line %s has no tools of this name", r.line.Name),
		Fix: problem.DidYouMean(short, known) + "there are " + strings.Join(known, ", ") +
			", and mcp::<id> for tools of an " +
			"MCP server",
	})
}
