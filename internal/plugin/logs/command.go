// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/pods"
)

const long = `Print the log of a server: of the newest pod that is not ready, or of the newest pod if all are ready.
Standard error names the pod. Nothing in the log is redacted; control characters are escaped. With --output, the
command prints one object with the pod and the log lines.`

const examples = `  # The log of the server
  kubectl llamastack logs my-stack

  # What it writes from now on
  kubectl llamastack logs my-stack --follow --tail 0

  # Why did it restart?
  kubectl llamastack logs my-stack --previous

  # The last lines, for a program
  kubectl llamastack logs my-stack --tail 100 -o json`

// maxOutputBytes bounds a log printed as one object, in bytes; kubelet keeps 10 MiB per container by default.
const maxOutputBytes = 64 << 20

type options struct {
	cluster.Flags
	output           cli.Output
	follow, previous bool
	tail             int64
}

// New returns the logs command.
func New(streams cli.Streams, connect cluster.Connect) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:               "logs NAME",
		Short:             "Print the log of a server",
		Long:              long,
		Example:           examples,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cluster.Names(&o.Flags, connect),
		PreRunE:           func(*cobra.Command, []string) error { return o.check() },
		RunE: cluster.Run(&o.Flags, connect, func(ctx context.Context, c *cluster.Connection, args []string) error {
			return o.run(ctx, c, args[0], streams)
		}),
	}
	o.AddTo(cmd)
	o.output.AddTo(cmd)
	cmd.Flags().BoolVar(&o.follow, "follow", false, "print new lines until you stop the command")
	cmd.Flags().BoolVar(&o.previous, "previous", false, "print the log of the container before its last restart")
	cmd.Flags().Int64Var(&o.tail, "tail", -1, "number of lines to print from the end; -1 prints all")
	return cmd
}

var (
	errNoPods       = errors.New("the server has no pods: see kubectl llamastack status")
	errFollowOutput = errors.New("--follow and --output are mutually exclusive")
	errTooLong      = fmt.Errorf("the log is longer than %d MiB: use --tail for its end", maxOutputBytes>>20)
)

func (o *options) check() error {
	if o.follow && o.output.MachineReadable() {
		return errFollowOutput
	}
	return o.output.Check()
}

type log struct {
	Namespace string   `json:"namespace"`
	Pod       string   `json:"pod"`
	Container string   `json:"container"`
	Lines     []string `json:"lines"`
}

func (o *options) run(ctx context.Context, c *cluster.Connection, name string, streams cli.Streams) error {
	cr, found, err := c.GetOwned(ctx, name)
	if err != nil {
		return err
	}
	pod := ChoosePod(found.Pods)
	if pod == nil {
		return errNoPods
	}
	options := &corev1.PodLogOptions{
		Container: cmp.Or(v1alpha2.Legacy(cr).ContainerName, names.ContainerName), Follow: o.follow, Previous: o.previous,
	}
	if o.tail >= 0 {
		options.TailLines = &o.tail
	}
	printed := log{Namespace: pod.Namespace, Pod: pod.Name, Container: options.Container}
	if o.output.MachineReadable() {
		if printed.Lines, err = lines(ctx, c, pod, options); err != nil {
			return err
		}
		return o.output.Print(streams.Out, printed, nil)
	}
	if _, err := fmt.Fprintf(streams.Err, "pod %s, container %s\n", pod.Name, options.Container); err != nil {
		return err
	}
	stream, err := c.Logs(ctx, pod.Namespace, pod.Name, options)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	_, err = io.Copy(streams.Out, stream)
	return err
}

func lines(ctx context.Context, c *cluster.Connection, pod *corev1.Pod, options *corev1.PodLogOptions) ([]string,
	error) {
	stream, err := c.Logs(ctx, pod.Namespace, pod.Name, options)
	if err != nil {
		return nil, err
	}
	defer func() { _ = stream.Close() }()
	text, err := io.ReadAll(io.LimitReader(stream, maxOutputBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxOutputBytes:
		return nil, errTooLong
	case len(text) == 0:
		return []string{}, nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), nil
}

// ChoosePod returns the newest pod that is not ready, else the newest one; nil for an empty list. Terminating and
// finished pods are chosen last.
func ChoosePod(list []corev1.Pod) *corev1.Pod {
	rank := func(p *corev1.Pod) int {
		switch {
		case p.DeletionTimestamp != nil, pods.HasEnded(p):
			return 2
		case pods.IsReady(p):
			return 1
		}
		return 0
	}
	var best *corev1.Pod
	for i := range list {
		p := &list[i]
		if best == nil || cmp.Or(rank(p)-rank(best), best.CreationTimestamp.Compare(p.CreationTimestamp.Time)) < 0 {
			best = p
		}
	}
	return best
}
