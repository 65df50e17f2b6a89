// SPDX-License-Identifier: Apache-2.0

package build

import (
	"slices"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// portVariables names the variables with the server's port: the release line's; all that any release line reads where
// the release line is not known.
func portVariables(line *catalog.Line) []string {
	return variablesOf(line, func(l *catalog.Line) string { return l.PortEnv })
}

// homeVariables names the variables with the directory of the server's own files: the release line's; all that any
// release line reads where it is not known.
func homeVariables(line *catalog.Line) []string {
	return variablesOf(line, func(l *catalog.Line) string { return l.HomeEnv })
}

// variablesOf returns a variable of the release line, if it has it, else of all that there are: each once, those of
// older release lines first.
func variablesOf(line *catalog.Line, name func(*catalog.Line) string) []string {
	var names []string
	if line != nil {
		if name(line) != "" {
			names = []string{name(line)}
		}
		return names
	}
	for _, known := range catalog.Lines() {
		if l, ok := catalog.Get(known); ok && name(l) != "" && !slices.Contains(names, name(l)) {
			names = append(names, name(l))
		}
	}
	return names
}

// writesConfig reports whether servers of the release line write the values of Secrets below /tmp, which is to be in
// memory then. It is not assumed of a release line that is not known: memory counts against the limit of a server that
// runs well.
func writesConfig(line *catalog.Line) bool { return line != nil && line.WritesConfig }
