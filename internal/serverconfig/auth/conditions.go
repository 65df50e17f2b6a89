// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// attributes are the built-in user attributes of the server.
var attributes = []string{"namespaces", "projects", "roles", "teams"}

// conditionForms lists the valid conditions for messages.
const conditionForms = `"user with <value> in <attribute>", "user with <value> not in <attribute>", ` +
	`"user in owners <attribute>", ` +
	`"user not in owners <attribute>", "user is owner", "user is not owner" and "resource is unowned"`

type condition struct {
	// attribute is the user attribute, if any.
	attribute string
	// owner marks a condition about the owner of a resource, unowned one about a resource without owner.
	owner, unowned bool
}

// readCondition parses a condition by its words as the server does, and returns false for an unknown one.
func readCondition(text string) (condition, bool) {
	words := strings.Fields(text)
	is := func(form ...string) bool {
		return len(words) == len(form) && !slices.ContainsFunc(form, func(word string) bool {
			i := slices.Index(form, word)
			return word != "" && words[i] != word
		})
	}
	switch {
	case is("user", "is", "owner"), is("user", "is", "not", "owner"):
		return condition{owner: true}, true
	case is("user", "with", "", "in", ""), is("user", "with", "", "not", "in", ""):
		return condition{attribute: words[len(words)-1]}, true
	case is("user", "in", "owners", ""), is("user", "not", "in", "owners", ""):
		return condition{attribute: words[len(words)-1], owner: true}, true
	case is("resource", "is", "unowned"):
		return condition{owner: true, unowned: true}, true
	}
	return condition{}, false
}

func (s *policies) checkConditions(r *rule, parsed parse.Rule, route bool) {
	for _, name := range []string{ruleWhen, ruleUnless} {
		value, given := parsed.Fields[name]
		if !given {
			continue
		}
		at, list := r.path+"."+name, texts(value)
		if len(list) == 0 || slices.Contains(list, "") {
			s.problems.Add(invalid(at, "is empty, so the rule always applies", "write a condition, or remove it"))
			continue
		}
		for i, text := range list {
			if _, isList := value.([]any); isList {
				s.checkCondition(text, fmt.Sprintf("%s[%d]", at, i), route)
			} else {
				s.checkCondition(text, at, route)
			}
		}
	}
}

func (s *policies) checkCondition(text, at string, route bool) {
	if document.HasReference(text) {
		return
	}
	c, ok := readCondition(text)
	switch {
	case !ok:
		s.problems.Add(problem.Problem{
			Reason: problem.InvalidField, Path: at, Type: field.ErrorTypeInvalid, Detail: "is not a condition", Fix: "the " +
				"conditions are " + conditionForms,
		})
	case c.unowned && !s.line.Rules.Unowned:
		s.problems.Add(unsupported(at, nil, "a server of release line "+s.line.Name+" does not know this condition",
			func(line *catalog.Line) bool { return line.Rules.Unowned }))
	case c.owner && route:
		s.problems.Add(problem.Problem{
			Reason: problem.NoEffect, Severity: problem.Warning, Path: at, Detail: "refers to the owner of a resource, but a " +
				"path has no owner",
			Fix: "move it to accessPolicy, or use a condition about the user",
		})
	default:
		s.checkAttribute(c.attribute, at)
	}
}

// checkAttribute warns about an attribute that users cannot have. A type without claims_mapping allows any attribute.
func (s *policies) checkAttribute(name, at string) {
	if name == "" || s.row == nil {
		return
	}
	if _, mapped := s.row.Fields["claims_mapping"]; !mapped {
		return
	}
	known := slices.Clone(attributes)
	mapping, _ := s.settings["claims_mapping"].(map[string]any)
	for _, claim := range slices.Sorted(maps.Keys(mapping)) {
		known = append(known, texts(mapping[claim])...)
	}
	if slices.Contains(known, name) {
		return
	}
	fix := "the attributes are " + strings.Join(known, ", ") + "; add others with settings.claims_mapping"
	if near, ok := problem.Nearest(name, known); ok {
		fix = fmt.Sprintf("did you mean %q?", near)
	}
	s.problems.Add(problem.Problem{
		Reason: problem.InvalidField, Severity: problem.Warning, Path: at, Detail: "is an attribute that no user has",
		Fix: fix,
	})
}
