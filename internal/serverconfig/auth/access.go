// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// Fields in the scope of a rule about resources.
const (
	scopeActions   = "actions"
	scopePrincipal = "principal"
	scopeResource  = "resource"
)

// recordType is the type of table records of the server, such as conversations and files: sql_record::<table>::<id>.
const recordType = "sql_record"

// checkResource checks the actions and the resource pattern of a rule.
func (s *policies) checkResource(r *rule) {
	if value, given := r.scope[scopeActions]; given && len(texts(value)) == 0 {
		s.problems.Add(neverMatches(r.at(scopeActions), "the list is empty", "name actions: create, read, update, delete"))
	} else if !given {
		s.problems.Add(problem.Problem{
			Reason: problem.MissingField, Path: r.at(scopeActions), Type: field.ErrorTypeRequired, Detail: "the server does " +
				"not start without it",
			Fix: "name actions: create, read, update, delete",
		})
	}
	pattern, _ := r.scope[scopeResource].(string)
	if pattern != "" && !document.HasReference(pattern) {
		s.checkResourcePattern(pattern, r.at(scopeResource))
	}
}

func (s *policies) checkResourcePattern(pattern, at string) {
	if expression, isRegex := strings.CutPrefix(pattern, regexPrefix); isRegex {
		s.checkRegex(expression, at, func(line *catalog.Line) bool { return line.Rules.RegexResources })
		return
	}
	kind, id, typed := strings.Cut(pattern, "::")
	switch {
	case !typed || id == "":
		s.problems.Add(neverMatches(at, "a resource pattern has a type", "write <type>::<id>, or <type>::* for all of a "+
			"type"))
	case strings.Contains(id, "*") && id != "*" && !strings.HasSuffix(id, "::*"):
		s.problems.Add(neverMatches(at, "a wildcard must replace the whole id", "write "+s.validWildcards(kind)))
	case !slices.Contains(s.line.Rules.Resources, kind) && kind != recordType:
		known := append(slices.Clone(s.line.Rules.Resources), recordType)
		fix := "the types are " + strings.Join(known, ", ")
		if near, ok := problem.Nearest(kind, known); ok {
			fix = fmt.Sprintf("did you mean %q?", near)
		}
		s.problems.Add(problem.Problem{
			Reason: problem.InvalidField, Severity: problem.Warning, Path: at,
			Detail: "release line " + s.line.Name + " has no resources of this type", Fix: fix,
		})
	}
}

// validWildcards returns the valid alternatives to a wildcard in the middle of an id.
func (s *policies) validWildcards(kind string) string {
	if s.line.Rules.RegexResources {
		return kind + "::*, or a regular expression: " + regexPrefix + kind + "::<pattern>"
	}
	return kind + "::*"
}

// checkRegex checks a regular expression. An error is only a warning, because the server's syntax differs from Go's.
func (s *policies) checkRegex(expression, at string, supported func(*catalog.Line) bool) {
	if !supported(s.line) {
		s.problems.Add(unsupported(at, nil, "a server of release line "+s.line.Name+" does not support regular expressions "+
			"here, so the pattern matches nothing", supported))
		return
	}
	if _, err := regexp.Compile(expression); err != nil {
		s.problems.Add(problem.Problem{
			Reason: problem.InvalidField, Severity: problem.Warning, Path: at,
			Detail: "does not look like a regular expression; the server ignores invalid ones", Fix: "correct it",
		})
	}
}

// shadowingAccessRule returns the path of the earlier rules that decide all requests of a rule, or "".
func shadowingAccessRule(before []*rule, r *rule) string {
	actions := texts(r.scope[scopeActions])
	if len(actions) == 0 {
		return ""
	}
	by := ""
	for _, action := range actions {
		at := slices.IndexFunc(before, func(b *rule) bool {
			return slices.Contains(texts(b.scope[scopeActions]), action) && coversField(b, r, scopePrincipal, "\x00") &&
				coversField(b, r, scopeResource, "::*")
		})
		if at < 0 {
			return ""
		}
		by = before[at].path
	}
	return by
}

// coversField reports whether the pattern of b covers that of r; an absent pattern matches everything.
func coversField(b, r *rule, name, wildcard string) bool {
	pattern, _ := b.scope[name].(string)
	other, _ := r.scope[name].(string)
	return pattern == "" || other != "" && covers(pattern, other, wildcard)
}
