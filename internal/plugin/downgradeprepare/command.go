// SPDX-License-Identifier: Apache-2.0

package downgradeprepare

import (
	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09/downgrade"
)

const long = `Prepare the cluster for release 0.9 of the operator. Requires cluster administrator permissions and a
running operator.

The command stores custom resources as v1alpha1, stops the operator, removes its webhooks and its admission policy,
removes v1alpha2 from the CRD, and makes release 0.9 the field manager of all objects. Servers keep running.
Afterwards, apply the manifest of release 0.9. The command can be repeated: it continues where it was interrupted.`

// New returns the downgrade-prepare command.
func New(streams cli.Streams) *cobra.Command {
	var kubeconfig, kubeContext, namespace string
	cmd := &cobra.Command{
		Use:     "downgrade-prepare",
		Short:   "Prepare the cluster for release 0.9 of the operator",
		Long:    long,
		Example: "  kubectl llamastack downgrade-prepare",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rules := clientcmd.NewDefaultClientConfigLoadingRules()
			rules.ExplicitPath = kubeconfig
			config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
				&clientcmd.ConfigOverrides{CurrentContext: kubeContext}).ClientConfig()
			if err != nil {
				return cli.Fail(err)
			}
			config.QPS, config.Burst = 50, 100
			config.Wrap(cluster.RejectRedirects)
			return cli.Fail(downgrade.Prepare(cmd.Context(), config,
				downgrade.Options{OperatorNamespace: namespace, Progress: streams.Out}))
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig file; default as for kubectl")
	cmd.Flags().StringVar(&kubeContext, "context", "", "context of the kubeconfig; default the current one")
	cmd.Flags().StringVar(&namespace, "operator-namespace", "llama-stack-k8s-operator-system", "namespace of the operator")
	return cmd
}
