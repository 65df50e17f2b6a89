// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

// CheckBase reports the rules of a base that the server refuses: those without exactly one effect, or with an unknown
// condition. They are warnings if the server release is newer than every known release line.
func CheckBase(doc *document.Document, line *catalog.Line, server string, problems *problem.Collector) {
	severity := problem.Error
	if newer, _ := line.Predates(server); newer {
		severity = problem.Warning
	}
	for _, key := range []string{keyAccess, keyRoutes} {
		if _, has := line.AuthFields()[key]; !has {
			continue
		}
		for i, entry := range document.Items(document.Descend(doc.Root(), []string{"server", sectionAuth, key})) {
			r := baseRule{
				doc: doc, line: line, severity: severity, server: server, entry: entry,
				path: fmt.Sprintf("config.yaml: server.%s.%s[%d]", sectionAuth, key, i), problems: problems,
			}
			r.check()
		}
	}
}

type baseRule struct {
	doc  *document.Document
	line *catalog.Line
	// severity is that of the problems, and server the release of the server.
	severity problem.Severity
	server   string
	entry    *yaml.Node
	path     string
	problems *problem.Collector
}

func (r *baseRule) check() {
	has := func(name string) bool { return document.Child(r.entry, name) != nil }
	if has(rulePermit) == has(ruleForbid) {
		r.invalid("a rule has exactly one of permit and forbid", "write one of them")
	}
	if has(ruleWhen) && has(ruleUnless) {
		r.invalid("a rule has only one of when and unless", "keep one of them")
	}
	for _, name := range []string{ruleWhen, ruleUnless} {
		value := document.Child(r.entry, name)
		r.checkCondition(document.Text(value))
		for _, item := range document.Items(value) {
			r.checkCondition(document.Text(item))
		}
	}
}

func (r *baseRule) checkCondition(text string) {
	c, known := readCondition(text)
	if text != "" && !document.HasReference(text) && (!known || c.unowned && !r.line.Rules.Unowned) {
		r.invalid("has a condition that the server does not know", "the conditions are "+conditionForms)
	}
}

func (r *baseRule) invalid(detail, fix string) {
	r.problems.Add(release.InvalidBase(r.severity, r.server, r.path, detail,
		fix+", in the base configuration "+r.doc.Base().Name()))
}
