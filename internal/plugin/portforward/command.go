// SPDX-License-Identifier: Apache-2.0

package portforward

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

const long = `Forward a local port to a ready pod of a server until you stop the command. By default, the local port
is the port of the server. The command prints the URL, and listens on the loopback address only. With --output, it
prints one object when it listens.`

const examples = `  # On the port of the server
  kubectl llamastack port-forward my-stack

  # On another port of this machine
  kubectl llamastack port-forward my-stack --port 9000`

// New returns the port-forward command.
func New(streams cli.Streams, connect cluster.Connect) *cobra.Command {
	flags, output, local := &cluster.Flags{}, &cli.Output{}, int32(0)
	cmd := &cobra.Command{
		Use:               "port-forward NAME",
		Short:             "Forward a local port to a server",
		Long:              long,
		Example:           examples,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cluster.Names(flags, connect),
		RunE: cluster.Run(flags, connect, func(ctx context.Context, c *cluster.Connection, args []string) error {
			return run(ctx, c, args[0], local, output, streams.Out)
		}),
	}
	flags.AddTo(cmd)
	output.AddTo(cmd)
	cmd.Flags().Int32Var(&local, "port", 0, "local port (default the port of the server)")
	return cmd
}

type forwarded struct {
	Pod string `json:"pod"`
	URL string `json:"url"`
}

func run(ctx context.Context, c *cluster.Connection, name string, local int32, output *cli.Output,
	out io.Writer) error {
	if err := output.Check(); err != nil {
		return err
	}
	cr, pod, err := c.ReadyPod(ctx, name)
	if err != nil {
		return err
	}
	remote := objects.Port(&cr.Spec)
	if local == 0 {
		local = remote
	}
	return c.Forward(ctx, pod, local, remote, func(local int32) error {
		f := forwarded{Pod: pod.Name, URL: fmt.Sprintf("%s://127.0.0.1:%d", cluster.Scheme(cr), local)}
		return output.Print(out, f, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s forwards to pod %s: press Ctrl-C to stop\n", f.URL, f.Pod)
			return err
		})
	})
}
