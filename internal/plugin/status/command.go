// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
)

const long = `Show the status of LlamaStackDistributions: a table of all, or the details of one.

The details begin with a summary, the cause of a problem and its remedy. They continue with the URL, the release, the
providers (of the spec, and of the base those that a variable configures), the names of the models in API requests,
other registered resources, resources of the spec that the server does not list, the objects and pods with what
prevents readiness, and the latest warnings. If a container ended, they show the last lines of its log; if the server
cannot read what it stores, the errors of its databases in the log. Nothing in them is redacted. The command reads no Secrets.`

const examples = `  # All in the namespace
  kubectl llamastack status

  # One screen
  kubectl llamastack status my-stack

  # The same, until you stop it
  kubectl llamastack status my-stack --watch`

type options struct {
	cluster.Flags
	output        cli.Output
	allNamespaces bool
	watch         bool
	interval      time.Duration
}

// interval is the polling interval of --watch, with about ten small requests each.
const interval = 2 * time.Second

// New returns the status command.
func New(streams cli.Streams, connect cluster.Connect) *cobra.Command {
	o := &options{interval: interval}
	return o.command(streams, connect)
}

func (o *options) command(streams cli.Streams, connect cluster.Connect) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "status [NAME]",
		Short:             "Show the status of resources, and why they are not ready",
		Long:              long,
		Example:           examples,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cluster.Names(&o.Flags, connect),
		PreRunE:           func(_ *cobra.Command, args []string) error { return o.check(args) },
		RunE: cluster.Run(&o.Flags, connect, func(ctx context.Context, c *cluster.Connection, args []string) error {
			return o.run(ctx, c, args, streams.Out)
		}),
	}
	o.AddTo(cmd)
	o.output.AddTo(cmd)
	cmd.Flags().BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "show resources in all namespaces")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "update the output on changes, until you stop the command")
	return cmd
}

var (
	errNamedEverywhere = errors.New("--all-namespaces and a name are mutually exclusive")
	errWatchPrograms   = errors.New("--watch and --output are mutually exclusive: use kubectl get llsd --watch")
)

func (o *options) check(args []string) error {
	switch {
	case o.allNamespaces && len(args) > 0:
		return errNamedEverywhere
	case o.watch && o.output.MachineReadable():
		return errWatchPrograms
	}
	return o.output.Check()
}

func (o *options) run(ctx context.Context, c *cluster.Connection, args []string, out io.Writer) error {
	style := cli.StyleFor(out)
	if !o.watch {
		return o.show(ctx, c, args, out, style)
	}
	ticker := time.NewTicker(o.interval)
	defer ticker.Stop()
	var last []byte
	for {
		var text bytes.Buffer
		if err := o.show(ctx, c, args, &text, style); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if !bytes.Equal(last, text.Bytes()) {
			if err := reprint(out, text.Bytes(), style, last == nil); err != nil {
				return err
			}
			last = text.Bytes()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// reprint prints a new state, in place of the last one on a terminal.
func reprint(out io.Writer, text []byte, style cli.Style, first bool) error {
	switch {
	case style.OnTerminal():
		text = append([]byte(style.ClearScreen()), text...)
	case !first:
		text = append([]byte("\n"), text...)
	}
	_, err := out.Write(text)
	return err
}

func (o *options) show(ctx context.Context, c *cluster.Connection, args []string, out io.Writer,
	style cli.Style) error {
	if len(args) == 1 {
		f, err := gather(ctx, c, args[0])
		if err != nil {
			return err
		}
		s := newScreen(f)
		return o.output.Print(out, s, func(w io.Writer) error { return s.print(w, style) })
	}
	list := &v1alpha2.LlamaStackDistributionList{}
	var in []client.ListOption
	if !o.allNamespaces {
		in = append(in, client.InNamespace(c.Namespace))
	}
	if err := c.Client.List(ctx, list, in...); err != nil {
		return fmt.Errorf("read LlamaStackDistributions: %w", err)
	}
	table := newOverview(list.Items, !o.allNamespaces)
	return o.output.Print(out, table, func(w io.Writer) error { return table.print(w, style) })
}
