// SPDX-License-Identifier: Apache-2.0

package integrity

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

// shape checks a base against the server's loader.
type shape struct {
	checker *check
	// severityOfTypes is for unknown provider types, severity for other problems: warnings if the server may know more.
	severity, severityOfTypes problem.Severity
}

// check reports missing required fields and unknown types of backends, providers and authentication. It skips values
// from the environment and the name of the distribution.
func (s shape) check() {
	root := s.checker.doc.Root()
	for _, name := range slices.Sorted(maps.Keys(s.checker.line.Sections)) {
		section := s.checker.line.Sections[name]
		if section.Required && name != "image_name" && document.Child(root, name) == nil {
			s.invalid(name, "release line "+s.checker.line.Name+" does not start without it")
			continue
		}
		s.required(document.Child(root, name), section, name)
	}
	for name, backend := range document.Members(s.checker.doc.Backends()) {
		s.backendType("storage.backends."+name, backend)
	}
	for entry := range s.checker.doc.Providers() {
		if s.checker.configuredAt(entry.API, entry.Identity().ID) == "" {
			s.providerShape(entry)
		}
	}
	if s.checker.spec.Auth == nil {
		s.authType()
	}
}

func (s shape) backendType(path string, backend *yaml.Node) {
	name := document.Text(document.Child(backend, "type"))
	row, known := s.checker.line.Backends[name]
	switch {
	case document.HasReference(name):
	case !known:
		s.invalid(path+".type", fmt.Sprintf("release line %s has no storage backend of type %q, but %s",
			s.checker.line.Name, limits.Message(name), strings.Join(slices.Sorted(maps.Keys(s.checker.line.Backends)), ", ")))
	default:
		s.requiredFields(backend, row.Fields, path)
	}
}

// providerShape checks an entry of the base. A type unknown to the release line is refused, unless a module or
// directory of the image may provide it.
func (s shape) providerShape(entry document.Entry) {
	path := entry.Path()
	for _, name := range []string{"provider_id", "provider_type"} {
		if _, exists := document.IndexOf(entry.Node, name); !exists {
			s.invalid(path+"."+name, "the server does not start without it")
			return
		}
	}
	if entry.Identity().Presence != document.Unconditional || document.HasReference(entry.Type()) {
		return
	}
	row, known := s.checker.line.Provider(entry.API, entry.Type())
	_, ofLine := s.checker.line.APIs[entry.API]
	foreign := document.Child(entry.Node, "module") != nil || s.checker.doc.Section("external_providers_dir") != nil ||
		s.checker.doc.Section("external_apis_dir") != nil
	switch {
	case known:
		s.requiredFields(entry.Config(), row.Fields, path+".config")
	case ofLine && !foreign:
		s.report(s.severityOfTypes, path+".provider_type", fmt.Sprintf(
			"%s has no type %q of %s providers: if a package in the image provides it, set its name as module",
			s.checker.line.Without(catalog.HasProvider(entry.API, entry.Type())), limits.Message(entry.Type()), entry.API))
	}
}

func (s shape) authType() {
	const path = "server.auth.provider_config"
	config := document.Descend(s.checker.doc.Root(), []string{"server", "auth", "provider_config"})
	name := document.Text(document.Child(config, "type"))
	if name == "" || document.HasReference(name) {
		return
	}
	at := slices.IndexFunc(s.checker.line.Auth, func(row catalog.AuthType) bool { return row.Type == name })
	if at < 0 {
		s.invalid(path+".type", fmt.Sprintf("release line %s has no authentication of type %q", s.checker.line.Name,
			limits.Message(name)))
		return
	}
	s.requiredFields(config, s.checker.line.Auth[at].Fields, path)
}

// required reports missing required fields in a map or the maps of a list.
func (s shape) required(n *yaml.Node, def catalog.Field, path string) {
	if def.Object == "" || s.checker.problems.Full(s.severity) {
		return
	}
	for i, item := range document.Items(n) {
		s.required(item, catalog.Field{Object: def.Object}, fmt.Sprintf("%s[%d]", path, i))
	}
	if n != nil && n.Kind == yaml.MappingNode {
		s.requiredFields(n, s.checker.line.Objects[def.Object], path)
	}
}

func (s shape) requiredFields(n *yaml.Node, all map[string]catalog.Field, path string) {
	fields := catalog.FieldsForKind(all, func(name string) string { return document.Text(document.Child(n, name)) })
	var names []string
	for name, def := range fields {
		if def.Required || def.Object != "" || len(def.Values) > 0 { // most fields need no check
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		def, value := fields[name], document.Child(n, name)
		if def.Required && !def.Nullable && value == nil && !HasAlias(n, fields, name) {
			s.invalid(path+"."+name, "the server does not start without it")
			continue
		}
		s.allowed(value, def, path+"."+name)
		s.required(value, def, path+"."+name)
	}
}

// HasAlias reports whether a map has an alias of a field.
func HasAlias(n *yaml.Node, fields map[string]catalog.Field, name string) bool {
	for other := range fields {
		if (fields[other].AliasOf == name || fields[name].AliasOf == other) && document.Child(n, other) != nil {
			return true
		}
	}
	return false
}

// allowed checks a string or list of strings in server.auth against its allowed values.
func (s shape) allowed(n *yaml.Node, def catalog.Field, path string) {
	if len(def.Values) == 0 || n == nil || !strings.HasPrefix(path, "server.auth.") {
		return // other values are not checked in a base
	}
	values := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		values = n.Content
	}
	for _, text := range values {
		if text.Kind == yaml.ScalarNode && !document.HasReference(text.Value) && text.Tag != "!!null" &&
			!slices.Contains(def.Values, text.Value) {
			s.invalid(path, fmt.Sprintf("has the value %q, but the server accepts only %s", limits.Message(text.Value),
				limits.Names(def.Values)))
		}
	}
}

// invalid reports a base that the server's loader refuses.
func (s shape) invalid(path, detail string) { s.report(s.severity, path, detail) }

// report reports a base that the server's loader refuses, or may refuse if the severity is a warning.
func (s shape) report(severity problem.Severity, path, detail string) {
	s.checker.problems.Add(release.InvalidBase(severity, s.checker.release, "config.yaml: "+path, detail, "correct the "+
		"base "+
		"configuration "+s.checker.doc.Base().Name()))
}
