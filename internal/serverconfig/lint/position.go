// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// step matches one step of a path: a key or an index.
var step = regexp.MustCompile(`[^.\[\]]+|\[\d+\]`)

// nodeAt returns the node at a path, or the nearest one above it.
func (l *linter) nodeAt(path string) *yaml.Node {
	n := l.doc.Root()
	for _, s := range step.FindAllString(path, -1) {
		next := document.Child(n, s)
		if s[0] == '[' {
			if i, err := strconv.Atoi(s[1 : len(s)-1]); err == nil && i < len(document.Items(n)) {
				next = document.Items(n)[i]
			}
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}
