// SPDX-License-Identifier: Apache-2.0

package playground

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
)

//go:embed all:page
var files embed.FS

const defaultPort = 8322

const long = `Serve the playground: a page with an editor for LlamaStackDistributions that shows the rendered result
as you type.

The editor completes all fields. The page shows config.yaml, the objects, problems with their positions, and the
difference to another release of the server. It runs in your browser and sends no data. The command listens on
127.0.0.1 only; stop it with Ctrl-C.`

const examples = `  # Serve it, and open the address that is printed
  kubectl llamastack playground

  # On a free port
  kubectl llamastack playground --port 0`

// New returns the playground command.
func New(streams cli.Streams) *cobra.Command {
	port := uint16(defaultPort)
	cmd := &cobra.Command{
		Use:     "playground",
		Short:   "Serve an editor for resources that shows the rendered result",
		Long:    long,
		Example: examples,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			page, err := fs.Sub(files, "page")
			if err != nil {
				return cli.Fail(err)
			}
			return cli.Fail(run(cmd.Context(), page, port, streams))
		},
	}
	cmd.Flags().Uint16Var(&port, "port", defaultPort, "port on 127.0.0.1; 0 chooses a free port")
	return cmd
}

var errNoPage = errors.New("this build of the plugin has no page: take the plugin of a release, or run 'make " +
	"playground build' in the checkout")

func run(ctx context.Context, page fs.FS, port uint16, streams cli.Streams) error {
	if _, err := fs.Stat(page, "index.html"); err != nil {
		return errNoPage
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
	if err != nil {
		return fmt.Errorf("%w (choose another port with --port; 0 chooses a free port)", err)
	}
	_, _ = fmt.Fprintf(streams.Out, "Playground: http://%s/\n", listener.Addr())
	_, _ = fmt.Fprintln(streams.Err, "Press Ctrl-C to end.")
	return serve(ctx, listener, page)
}
