// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/chat"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/convert"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/diff"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/downgradeprepare"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/explain"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/label"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/logs"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/migrate"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/playground"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/portforward"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/register"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/render"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/report"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/status"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/upgradecheck"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/validate"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/version"
)

const long = `Work with LlamaStackDistributions.

Without a cluster: render and validate them, convert them to the other version of the API, migrate environment
variables to providers, explain fields, provider types and reasons, and print registrations of distributions.

With a cluster: show their status and what an edit or an upgrade would change, connect to servers and ask them
questions, collect a bug report, and prepare the downgrade to release 0.9.`

const examples = `  # The config.yaml that the server gets
  kubectl llamastack render -f my-stack.yaml

  # Is it valid?
  kubectl llamastack validate -f my-stack.yaml

  # What is it in v1alpha2?
  kubectl llamastack convert -f my-stack.yaml --to v1alpha2

  # Why is it not ready?
  kubectl llamastack status my-stack`

// New returns the root command with all verbs.
func New(streams cli.Streams) *cobra.Command { return newRoot(cli.Safe(streams), cluster.Dial) }

func newRoot(streams cli.Streams, connect cluster.Connect) *cobra.Command {
	root := &cobra.Command{
		Use:           "kubectl-llamastack",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl llamastack"},
		Short:         "Work with LlamaStackDistributions",
		Long:          long,
		Example:       examples,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(streams.In)
	root.SetOut(cli.MachineReadable(streams.Out)) // help and shell completion
	root.SetErr(streams.Err)
	root.AddCommand(
		render.New(streams, connect), validate.New(streams, connect), convert.New(streams), migrate.New(streams),
		explain.New(streams),
		status.New(streams, connect), diff.New(streams, connect), upgradecheck.New(streams, connect),
		report.New(streams, connect), logs.New(streams, connect), portforward.New(streams, connect),
		chat.New(streams, connect),
		label.New(streams), register.New(streams), playground.New(streams), downgradeprepare.New(streams), version.New(streams),
	)
	return root
}

// Run runs the plugin with the arguments, without the program name, and returns the exit code.
func Run(ctx context.Context, args []string, streams cli.Streams) int {
	streams = cli.Safe(streams)
	root := New(streams) //nolint:contextcheck // cobra hands the context to the verbs
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() } // else an unknown shell succeeds
	}
	root.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	called, err := root.ExecuteContextC(ctx)
	code := cli.Finish(err, streams, "See '"+called.CommandPath()+" --help'.")
	if err := cli.Flush(streams); err != nil && code == cli.ExitOK {
		return cli.ExitFailure
	}
	return code
}
