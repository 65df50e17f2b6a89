// SPDX-License-Identifier: Apache-2.0

package version

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llamastack/llama-stack-k8s-operator/internal/cli/command"
	"github.com/llamastack/llama-stack-k8s-operator/internal/version"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
)

// New returns the command.
func New(streams command.Streams) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the build of the plugin and the server releases that it knows",
		Long:    "Print the build of the plugin, and the server release lines that it supports.",
		Example: "  kubectl llamastack version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(streams.Out, "kubectl-llamastack %s\nserver release lines: %s\n",
				version.Build(), strings.Join(catalog.Lines(), ", "))
			return command.Fail(err)
		},
	}
}
