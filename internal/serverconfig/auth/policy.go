// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/provider"
)

// Fields of a rule.
const (
	ruleForbid = "forbid"
	rulePermit = "permit"
	ruleUnless = "unless"
	ruleWhen   = "when"
)

// regexPrefix marks a pattern as a regular expression.
const regexPrefix = "regex:"

type policies struct{ *step }

// rule is a parsed rule of a policy.
type rule struct {
	path string
	// effect is permit or forbid.
	effect string
	// scope holds the fields below the effect.
	scope map[string]any
	// conditional marks a rule with when or unless.
	conditional bool
}

// texts returns the strings of a value that is a string or a list.
func texts(value any) []string {
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		var list []string
		for _, item := range value {
			if text, ok := item.(string); ok {
				list = append(list, text)
			}
		}
		return list
	}
	return nil
}

// check reports policies and rules that the server refuses, ignores or never reaches.
func (s *policies) check() {
	if len(s.spec.AccessPolicy) > 0 && s.row == nil && s.baseProvider() == nil {
		s.problems.Add(problem.Problem{
			Reason: problem.NoEffect, Severity: problem.Warning, Path: root + ".accessPolicy",
			Detail: "has no effect without authentication: the server permits all requests without a user",
			Fix:    "set " + pathProvider,
		})
	}
	checkRules(s, s.spec.AccessPolicy, "accessPolicy", keyAccess, s.checkResource, shadowingAccessRule)
	checkRules(s, s.spec.RoutePolicy, "routePolicy", keyRoutes, s.checkRoute, shadowingRouteRule)
}

func checkRules(s *policies, rules []parse.Rule, name, key string, check func(*rule),
	covers func([]*rule, *rule) string) {
	if len(rules) == 0 {
		return
	}
	list, ok := s.line.AuthFields()[key]
	if !ok {
		s.problems.Add(unsupported(root+"."+name, nil, "a server of release line "+s.line.Name+" has no such policy",
			func(line *catalog.Line) bool { _, ok := line.AuthFields()[key]; return ok }))
		return
	}
	var before []*rule
	for _, parsed := range rules {
		provider.CheckStrictly(s.line, "a rule of "+name, s.line.Objects[list.Object], parsed.Fields, parsed.Path, s.problems)
		r := s.readRule(parsed)
		if r == nil {
			continue
		}
		s.checkConditions(r, parsed, key == keyRoutes)
		check(r)
		if by := covers(before, r); by != "" {
			s.problems.Add(problem.Problem{
				Reason: problem.NoEffect, Severity: problem.Warning, Path: r.path, Detail: "is never reached: " + by + " applies " +
					"to all its requests",
				Fix: "move it before that rule, or remove it",
			})
		}
		if !r.conditional {
			before = append(before, r)
		}
	}
}

// readRule parses a rule: one effect, and at most one of when and unless. It returns nil for an invalid rule.
func (s *policies) readRule(parsed parse.Rule) *rule {
	permit, permits := parsed.Fields[rulePermit]
	forbid, forbids := parsed.Fields[ruleForbid]
	if permits == forbids {
		s.problems.Add(problem.Problem{
			Reason: problem.InvalidField, Path: parsed.Path, Type: field.ErrorTypeInvalid, Detail: "a rule has exactly one of " +
				"permit and forbid",
			Fix: map[bool]string{true: "split it into two rules", false: "write one of them"}[permits],
		})
		return nil
	}
	_, when := parsed.Fields[ruleWhen]
	_, unless := parsed.Fields[ruleUnless]
	if when && unless {
		s.problems.Add(problem.Problem{
			Reason: problem.ConflictingFields, Path: parsed.Path + "." + ruleUnless, Type: field.ErrorTypeForbidden,
			Detail: "a rule has only one of when and unless",
			Fix:    "keep one of them",
		})
	}
	r := &rule{path: parsed.Path, effect: rulePermit, conditional: when || unless}
	if forbids {
		r.effect, permit = ruleForbid, forbid
	}
	r.scope, _ = permit.(map[string]any)
	if r.scope == nil {
		return nil // reported by CheckStrictly
	}
	return r
}

// at returns the path of a field of the rule's scope.
func (r *rule) at(name string) string { return fmt.Sprintf("%s.%s.%s", r.path, r.effect, name) }

// neverMatches returns the problem of a valid pattern that matches nothing.
func neverMatches(path, detail, fix string) problem.Problem {
	return problem.Problem{Reason: problem.InvalidField, Path: path, Type: field.ErrorTypeInvalid, Detail: "matches " +
		"nothing: " + detail, Fix: fix}
}

// covers reports whether a pattern with an optional trailing wildcard matches everything that another pattern matches.
func covers(pattern, other, wildcard string) bool {
	if pattern == other {
		return true
	}
	if strings.HasPrefix(pattern, regexPrefix) || strings.HasPrefix(other, regexPrefix) ||
		!strings.HasSuffix(pattern, wildcard) {
		return false
	}
	return strings.HasPrefix(other, strings.TrimSuffix(pattern, "*"))
}
