// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
)

// portVariables names the variables with the server's port: the release line's; all that any release line reads where
// the release line is not known.
func portVariables(line *catalog.Line) []string {
	if line != nil {
		return []string{line.PortEnv}
	}
	return []string{"LLAMA_STACK_PORT", "OGX_PORT"}
}

// homeVariables names the variables with the directory of the server's own files: the release line's; all that any release line
// reads where it is not known.
func homeVariables(line *catalog.Line) []string {
	if line != nil {
		return []string{line.HomeEnv}
	}
	return []string{"LLAMA_STACK_CONFIG_DIR", "OGX_CONFIG_DIR"}
}

// writesConfig reports whether servers of the release line write the values of Secrets below /tmp, which is to be in memory then. It is not
// assumed of a release line that is not known: memory counts against the limit of a server that runs well.
func writesConfig(line *catalog.Line) bool { return line != nil && line.WritesConfig }
