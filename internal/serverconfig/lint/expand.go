// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// deadReference matches a reference with a default in the form that no server expands.
var deadReference = regexp.MustCompile(`\$\{env\.([A-Za-z0-9_]+):([^=+}][^}]*)\}`)

// expand returns the value that the server reads, and false if only the environment decides it. It reports references
// that fail.
func (l *linter) expand(n *yaml.Node, path string) (value any, known bool) {
	if n.Kind != yaml.ScalarNode {
		return plain(document.Plain(n)), true
	}
	if m := deadReference.FindStringSubmatch(n.Value); m != nil {
		l.add(Ignored, n, path, "the server does not expand "+m[0], "write ${env."+m[1]+":="+m[2]+"}")
	}
	refs := document.References(n.Value)
	if len(refs) == 0 {
		return plain(document.Plain(n)), true
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
	return converted(ref.Value), true
}

// converted returns the value of a whole text after expansion: the server makes numbers and booleans of texts that look
// like them, and null of an empty one.
func converted(text string) any {
	if text == "" {
		return nil
	}
	if lower := strings.ToLower(text); lower == "true" || lower == "false" {
		return lower == "true"
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return f
	}
	return text
}

// plain returns a decoded value with the integers of decoded JSON.
func plain(value any) any {
	if i, ok := value.(int); ok {
		return int64(i)
	}
	return value
}
