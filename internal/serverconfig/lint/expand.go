// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// deadReference matches a reference with a default in the form that no server expands.
var deadReference = regexp.MustCompile(`\$\{env\.([A-Za-z0-9_]+):([^=+}][^}]*)\}`)

// expand returns the value that the server reads, and false if only the environment decides it. It reports references
// that fail.
func (l *linter) expand(n *yaml.Node, path string) (value any, known bool) {
	if n.Kind != yaml.ScalarNode {
		return outline(n), true
	}
	if m := deadReference.FindStringSubmatch(n.Value); m != nil {
		l.add(Ignored, n, path, "the server does not expand ${env."+m[1]+":…}",
			"write := before the default: ${env."+m[1]+":=…}")
	}
	refs := document.References(n.Value)
	if len(refs) == 0 {
		return outline(n), true
	}
	for _, r := range refs {
		if r.Operator == "" && l.given != nil && !l.given[r.Name] {
			l.add(Refused, n, path, "nothing sets the environment variable "+r.Name,
				"set it in spec.workload.overrides.env, or give it a default: ${env."+r.Name+":=…}")
		}
	}
	ref, whole := document.WholeReference(n.Value)
	if !whole || ref.Operator != document.OrElse || l.given[ref.Name] {
		return nil, false
	}
	return converted(ref.Value)
}

// converted returns the value of a whole text after the server has expanded it, and false if it is not known: an empty
// text becomes null, and texts that look like numbers and booleans become those.
func converted(text string) (value any, known bool) {
	switch {
	case text == "":
		return nil, true
	case secret.ConvertedTo(text) == "":
		return text, true
	}
	text = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(text)), "_", "")
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, true
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return f, true
	}
	b, err := strconv.ParseBool(text)
	return b, err == nil
}

// outline returns a scalar as decoded JSON has it, and an empty value for a map or list, whose items are checked by
// themselves.
func outline(n *yaml.Node) any {
	if n.Kind == yaml.MappingNode {
		return map[string]any{}
	}
	if n.Kind == yaml.SequenceNode {
		return []any{}
	}
	value := document.Plain(n)
	if i, ok := value.(int); ok {
		return int64(i)
	}
	return value
}
