// SPDX-License-Identifier: Apache-2.0

package build

import (
	"slices"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// portVariables returns the variables with the server's port: the release line's, or all if it is unknown.
func portVariables(line *catalog.Line) []string {
	return variablesOf(line, func(l *catalog.Line) string { return l.PortEnv })
}

// homeVariables returns the variables with the directory of the server's files, like portVariables.
func homeVariables(line *catalog.Line) []string {
	return variablesOf(line, func(l *catalog.Line) string { return l.HomeEnv })
}

// variablesOf returns the release line's variable, or without a release line those of all, oldest first.
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

// writesConfig reports whether servers write secret values below /tmp, which then must be in memory. It is false for an
// unknown release line, because memory counts against the server's limit.
func writesConfig(line *catalog.Line) bool { return line != nil && line.WritesConfig }
