// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/fields"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
)

const long = `Explain a field of the custom resource, a provider type, a condition or its reason, or an alert, without
a cluster.

Fields are from the CustomResourceDefinition, provider types from the catalog of server releases, conditions and
reasons from the tables of the operator, and alerts from its PrometheusRule. A path may be one of a message of validate,
with indices and keys, and of either version. A field name without a path works if only one field of v1alpha2 has this
name.`

const examples = `  # A field, and the fields below it
  kubectl llamastack explain spec.workload.autoscaling

  # An entry of spec.providers
  kubectl llamastack explain spec.providers.inference

  # The field of a message, also of v1alpha1
  kubectl llamastack explain 'spec.server.containerSpec.env[0]'

  # A provider type: its fields in each release line, and an example
  kubectl llamastack explain remote::vllm

  # A condition, and the reasons that it can have
  kubectl llamastack explain Available

  # The reason of a condition, and what to do
  kubectl llamastack explain SecretNotFound

  # An alert, and what to do
  kubectl llamastack explain LlamaStackDistributionFailed`

// New returns the explain command.
func New(streams cli.Streams) *cobra.Command {
	output := &cli.Output{}
	cmd := &cobra.Command{
		Use:               "explain FIELD|PROVIDER|CONDITION|REASON|ALERT",
		Short:             "Explain a field, a provider type, a condition, a reason or an alert",
		Long:              long,
		Example:           examples,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: complete,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			tree, err := fields.Read()
			if err != nil {
				return cli.Fail(err)
			}
			found, err := lookup(tree, args[0])
			if err != nil {
				return cli.Fail(err)
			}
			return cli.Fail(output.Print(streams.Out, found, found.print))
		},
	}
	output.AddTo(cmd)
	return cmd
}

func complete(_ *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	tree, err := fields.Read()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var completions []cobra.Completion
	for _, name := range names(tree) {
		if strings.HasPrefix(strings.ToLower(name), strings.ToLower(prefix)) {
			completions = append(completions, name)
		}
	}
	return completions, cobra.ShellCompDirectiveNoFileComp
}
