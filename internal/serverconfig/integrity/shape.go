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
	of *check
	// severityOfTypes is for unknown provider types, severity for other problems: warnings if the server may know more.
	severity, severityOfTypes problem.Severity
}

// check reports missing required fields and unknown types of backends, providers and authentication. It skips values
// from the environment and the name of the distribution.
func (s shape) check() {
	root := s.of.doc.Root()
	for _, name := range slices.Sorted(maps.Keys(s.of.line.Sections)) {
		section := s.of.line.Sections[name]
		if section.Required && name != "image_name" && document.Child(root, name) == nil {
			s.invalid(name, "release line "+s.of.line.Name+" does not start without it")
			continue
		}
		s.required(document.Child(root, name), section, name)
	}
	for name, backend := range document.Members(s.of.doc.Backends()) {
		s.backendType("storage.backends."+name, backend)
	}
	for entry := range s.of.doc.Providers() {
		if s.of.configuredAt(entry.API, entry.Identity().ID) == "" {
			s.providerShape(entry)
		}
	}
	if s.of.spec.Auth == nil {
		s.authType()
	}
}

func (s shape) backendType(path string, backend *yaml.Node) {
	name := document.Text(document.Child(backend, "type"))
	row, known := s.of.line.Backends[name]
	switch {
	case document.HasReference(name):
	case !known:
		s.invalid(path+".type", fmt.Sprintf("release line %s has no storage backend of type %q, but %s",
			s.of.line.Name, limits.Message(name), strings.Join(slices.Sorted(maps.Keys(s.of.line.Backends)), ", ")))
	default:
		s.requiredFields(backend, row.Fields, path)
	}
}

// providerShape checks an entry of the base. A type unknown to the release line is refused, unless a module or
// directory of the image may provide it.
func (s shape) providerShape(entry document.Entry) {
	path := entry.Path()
	for _, name := range []string{"provider_id", "provider_type"} {
		if _, there := document.IndexOf(entry.Node, name); !there {
			s.invalid(path+"."+name, "the server does not start without it")
			return
		}
	}
	if entry.Identity().Presence != document.Unconditional || document.HasReference(entry.Type()) {
		return
	}
	row, known := s.of.line.Provider(entry.API, entry.Type())
	_, ofLine := s.of.line.APIs[entry.API]
	foreign := document.Child(entry.Node, "module") != nil || s.of.doc.Section("external_providers_dir") != nil ||
		s.of.doc.Section("external_apis_dir") != nil
	switch {
	case known:
		s.requiredFields(entry.Config(), row.Fields, path+".config")
	case ofLine && !foreign:
		s.found(s.severityOfTypes, path+".provider_type", fmt.Sprintf(
			"%s has no type %q of %s providers: where a package of the image brings it, name that as module",
			s.of.line.Without(catalog.HasProvider(entry.API, entry.Type())), limits.Message(entry.Type()), entry.API))
	}
}

func (s shape) authType() {
	const path = "server.auth.provider_config"
	config := document.Descend(s.of.doc.Root(), []string{"server", "auth", "provider_config"})
	name := document.Text(document.Child(config, "type"))
	if name == "" || document.HasReference(name) {
		return
	}
	at := slices.IndexFunc(s.of.line.Auth, func(row catalog.AuthType) bool { return row.Type == name })
	if at < 0 {
		s.invalid(path+".type", fmt.Sprintf("release line %s has no authentication of type %q", s.of.line.Name,
			limits.Message(name)))
		return
	}
	s.requiredFields(config, s.of.line.Auth[at].Fields, path)
}

// required reports missing required fields in a map or the maps of a list.
func (s shape) required(n *yaml.Node, of catalog.Field, path string) {
	if of.Object == "" || s.of.problems.Full(s.severity) {
		return
	}
	for i, item := range document.Items(n) {
		s.required(item, catalog.Field{Object: of.Object}, fmt.Sprintf("%s[%d]", path, i))
	}
	if n != nil && n.Kind == yaml.MappingNode {
		s.requiredFields(n, s.of.line.Objects[of.Object], path)
	}
}

func (s shape) requiredFields(n *yaml.Node, all map[string]catalog.Field, path string) {
	fields := catalog.Chosen(all, func(name string) string { return document.Text(document.Child(n, name)) })
	var names []string
	for name, of := range fields {
		if of.Required || of.Object != "" || len(of.Values) > 0 { // most fields need no check
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		of, value := fields[name], document.Child(n, name)
		if of.Required && !of.Nullable && value == nil && !hasAlias(n, fields, name) {
			s.invalid(path+"."+name, "the server does not start without it")
			continue
		}
		s.allowed(value, of, path+"."+name)
		s.required(value, of, path+"."+name)
	}
}

// hasAlias reports whether a map has an alias of a field.
func hasAlias(n *yaml.Node, fields map[string]catalog.Field, name string) bool {
	for other := range fields {
		if (fields[other].AliasOf == name || fields[name].AliasOf == other) && document.Child(n, other) != nil {
			return true
		}
	}
	return false
}

// allowed checks a string or list of strings in server.auth against its allowed values.
func (s shape) allowed(n *yaml.Node, of catalog.Field, path string) {
	if len(of.Values) == 0 || n == nil || !strings.HasPrefix(path, "server.auth.") {
		return // other values are not checked in a base
	}
	texts := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		texts = n.Content
	}
	for _, text := range texts {
		if text.Kind == yaml.ScalarNode && !document.HasReference(text.Value) && text.Tag != "!!null" &&
			!slices.Contains(of.Values, text.Value) {
			s.invalid(path, fmt.Sprintf("has the value %q, and the server takes only %s", limits.Message(text.Value),
				limits.Names(of.Values)))
		}
	}
}

// invalid reports a base that the server's loader refuses.
func (s shape) invalid(path, detail string) { s.found(s.severity, path, detail) }

// found reports a base that the server's loader refuses, or may refuse if the severity is a warning.
func (s shape) found(severity problem.Severity, path, detail string) {
	s.of.problems.Add(release.RefusedBase(severity, s.of.release, "config.yaml: "+path, detail, "correct the base "+
		"configuration "+s.of.doc.Base().Name()))
}
