// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// CheckBase reports the rules of a base that the server's loader refuses: those without one effect, and those with a condition that it does not know. What it
// takes and what then decides nothing is the business of who wrote the base.
func CheckBase(doc *document.Document, line *catalog.Line, problems *problem.Collector) {
	for _, key := range []string{keyAccess, keyRoutes} {
		if _, has := line.AuthFields()[key]; !has {
			continue
		}
		for i, entry := range document.Items(document.Descend(doc.Root(), []string{"server", sectionAuth, key})) {
			path := fmt.Sprintf("config.yaml: server.%s.%s[%d]", sectionAuth, key, i)
			invalid := func(detail, fix string) {
				problems.Add(problem.Problem{
					Reason: problem.InvalidBaseConfig, Path: path, Type: field.ErrorTypeInvalid, Detail: detail,
					Fix: fix + ", in the base configuration " + doc.Base().Name(),
				})
			}
			if (document.Child(entry, rulePermit) == nil) == (document.Child(entry, ruleForbid) == nil) {
				invalid("a rule has exactly one of permit and forbid", "write one of them")
			}
			if document.Child(entry, ruleWhen) != nil && document.Child(entry, ruleUnless) != nil {
				invalid("a rule has only one of when and unless", "keep one of them")
			}
			for _, name := range []string{ruleWhen, ruleUnless} {
				value := document.Child(entry, name)
				conditions := []string{document.Text(value)}
				for _, item := range document.Items(value) {
					conditions = append(conditions, document.Text(item))
				}
				for _, text := range conditions {
					c, known := readCondition(text)
					if text != "" && !document.HasReference(text) && (!known || c.unowned && !line.Rules.Unowned) {
						invalid("has a condition that the server does not know", "the conditions are "+conditionForms)
					}
				}
			}
		}
	}
}
