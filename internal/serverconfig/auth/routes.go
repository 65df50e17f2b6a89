// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

const scopePaths = "paths"

// Paths that the kubelet and the operator request. The server itself requires no authentication for them.
const (
	pathHealth  = "/v1/health"
	pathVersion = "/v1/version"
)

// addedRule is the description of the rule that the operator adds.
const addedRule = "Added by the operator: probes and status need it."

func (s *policies) checkRoute(r *rule) {
	value, given := r.scope[scopePaths]
	patterns := texts(value)
	switch {
	case !given:
		s.problems.Add(problem.Problem{
			Reason: problem.MissingField, Path: r.at(scopePaths), Type: field.ErrorTypeRequired, Detail: "the server does not " +
				"start without it",
			Fix: "name paths, for example /v1/chat/completions",
		})
	case len(patterns) == 0:
		s.problems.Add(neverMatches(r.at(scopePaths), "the list is empty", "name paths, for example /v1/chat/completions"))
	}
	_, isList := value.([]any)
	for i, pattern := range patterns {
		at := r.at(scopePaths)
		if isList {
			at = fmt.Sprintf("%s[%d]", at, i)
		}
		s.checkPath(pattern, at)
	}
}

func (s *policies) checkPath(pattern, at string) {
	expression, isRegex := strings.CutPrefix(pattern, regexPrefix)
	switch {
	case document.HasReference(pattern), pattern == "*":
	case isRegex:
		s.checkRegex(expression, at, func(line *catalog.Line) bool { return line.Rules.RegexPaths })
	case !strings.HasPrefix(pattern, "/"):
		s.problems.Add(neverMatches(at, "a path begins with /", "write the whole path, for example /v1/chat/completions, "+
			"or *"))
	case strings.Contains(strings.TrimSuffix(pattern, "*"), "*"):
		s.problems.Add(neverMatches(at, "a wildcard is allowed only at the end", "write the start of the path followed by *"))
	case pattern != "/" && strings.HasSuffix(pattern, "/"):
		s.problems.Add(neverMatches(at, "the server removes a trailing / from paths", "remove the trailing /, or add * "+
			"after it"))
	}
}

// shadowingRouteRule returns the path of the earlier rules that decide all paths of a rule, or "".
func shadowingRouteRule(before []*rule, r *rule) string {
	by := ""
	for _, path := range texts(r.scope[scopePaths]) {
		at := slices.IndexFunc(before, func(b *rule) bool {
			return slices.ContainsFunc(texts(b.scope[scopePaths]), func(pattern string) bool {
				return covers(pattern, path, "*")
			})
		})
		if at < 0 {
			return ""
		}
		by = before[at].path
	}
	return by
}

// verdict is the decision of a route policy for an anonymous request.
type verdict int

const (
	// noRule means that the path matches none of the rules, and the server denies it.
	noRule verdict = iota
	denied
	permitted
)

// keepProbesOpen adds a rule that permits the health path if it is denied, and the version path if it has no rule.
func keepProbesOpen(auth *yaml.Node) {
	policy := document.Child(auth, keyRoutes)
	if len(document.Items(policy)) == 0 {
		return
	}
	var open []any
	if decide(policy, pathHealth) != permitted {
		open = append(open, pathHealth)
	}
	if decide(policy, pathVersion) == noRule {
		open = append(open, pathVersion)
	}
	if len(open) == 0 {
		return
	}
	added := document.Value(map[string]any{rulePermit: map[string]any{scopePaths: open}, "description": addedRule})
	policy.Content = append([]*yaml.Node{added}, policy.Content...)
}

// decide returns the verdict for a path. A condition or unsupported expression denies.
func decide(policy *yaml.Node, path string) verdict {
	matched := false
	for _, item := range document.Items(policy) {
		rule, _ := document.Plain(item).(map[string]any)
		permit, permits := rule[rulePermit].(map[string]any)
		scope := permit
		if !permits {
			scope, _ = rule[ruleForbid].(map[string]any)
		}
		matches, certain := matchesPath(texts(scope[scopePaths]), path)
		if !matches {
			continue
		}
		matched = true
		conditional := rule[ruleWhen] != nil || rule[ruleUnless] != nil
		switch {
		case !permits:
			return denied
		case certain && !conditional:
			return permitted
		}
	}
	if matched {
		return denied
	}
	return noRule
}

// matchesPath reports whether a pattern matches a path, and whether that is certain.
func matchesPath(patterns []string, path string) (matches, certain bool) {
	for _, pattern := range patterns {
		expression, isRegex := strings.CutPrefix(pattern, regexPrefix)
		switch {
		case document.HasReference(pattern):
			matches = true
		case isRegex:
			if compiled, err := regexp.Compile("^(?:" + expression + ")"); err != nil {
				matches = true
			} else if compiled.MatchString(path) {
				return true, true
			}
		case covers(pattern, path, "*"):
			return true, true
		}
	}
	return matches, false
}
