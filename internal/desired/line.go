// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
)

// portVariables names the variables that tell the server its port: the release line's; all that any line reads where
// the line is not known.
func portVariables(line *catalog.Line) []string {
	if line != nil {
		return []string{line.PortEnv}
	}
	return []string{"LLAMA_STACK_PORT", "OGX_PORT"}
}

// homeVariables names the variables that tell the server where its own files are: the release line's; all that any line
// reads where the line is not known.
func homeVariables(line *catalog.Line) []string {
	if line != nil {
		return []string{line.HomeEnv}
	}
	return []string{"LLAMA_STACK_CONFIG_DIR", "OGX_CONFIG_DIR"}
}
