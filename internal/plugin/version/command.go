// SPDX-License-Identifier: Apache-2.0

package version

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/version"
)

type build struct {
	Version      string   `json:"version"`
	ReleaseLines []string `json:"releaseLines"`
}

// New returns the version command.
func New(streams cli.Streams) *cobra.Command {
	output := &cli.Output{}
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of the plugin and the supported server release lines",
		Long:    "Print the version of the plugin, and the server release lines that it supports.",
		Example: "  kubectl llamastack version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			b := build{version.Build(), catalog.Lines()}
			return cli.Fail(output.Print(streams.Out, b, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "kubectl-llamastack %s\nserver release lines: %s\n", b.Version,
					strings.Join(b.ReleaseLines, ", "))
				return err
			}))
		},
	}
	output.AddTo(cmd)
	return cmd
}
