// SPDX-License-Identifier: Apache-2.0

package portforward

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/pods"
)

const long = `Forward a local port to a ready pod of a server until you stop the command. By default, the local port
is the port of the server. The command prints the URL, and listens on the loopback address only. If the pod ends, the
command connects to the next ready pod, and gives up after five minutes without one. With --output, it prints one
object when it listens.`

const examples = `  # On the port of the server
  kubectl llamastack port-forward my-stack

  # On another port of this machine
  kubectl llamastack port-forward my-stack --port 9000`

type options struct {
	cluster.Flags
	output cli.Output
	local  int32
	retry  retry
}

// retry says how often a lost connection is made again, and for how long without success.
type retry struct{ interval, timeout time.Duration }

// New returns the port-forward command.
func New(streams cli.Streams, connect cluster.Connect) *cobra.Command {
	o := &options{retry: retry{interval: 2 * time.Second, timeout: 5 * time.Minute}}
	cmd := &cobra.Command{
		Use:               "port-forward NAME",
		Short:             "Forward a local port to a server",
		Long:              long,
		Example:           examples,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cluster.Names(&o.Flags, connect),
		RunE: cluster.Run(&o.Flags, connect, func(ctx context.Context, c *cluster.Connection, args []string) error {
			return o.run(ctx, c, args[0], streams)
		}),
	}
	o.AddTo(cmd)
	o.output.AddTo(cmd)
	cmd.Flags().Int32Var(&o.local, "port", 0, "local port (default the port of the server)")
	return cmd
}

type forwarded struct {
	Pod string `json:"pod"`
	URL string `json:"url"`
}

func (o *options) run(ctx context.Context, c *cluster.Connection, name string, streams cli.Streams) error {
	if err := o.output.Check(); err != nil {
		return err
	}
	lost, err := o.forward(ctx, c, name, func(f forwarded) error {
		return o.output.Print(streams.Out, f, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s forwards to pod %s: press Ctrl-C to stop\n", f.URL, f.Pod)
			return err
		})
	})
	for lost != "" && ctx.Err() == nil {
		if _, err := fmt.Fprintf(streams.Err, "the connection to pod %s is lost: connecting to a ready pod\n", lost); err != nil {
			return err
		}
		if lost, err = o.reconnect(ctx, c, name, streams.Err); err != nil {
			return err
		}
	}
	return err
}

// reconnect forwards to a ready pod, which may take a while to exist. It returns the pod when that connection is lost.
func (o *options) reconnect(ctx context.Context, c *cluster.Connection, name string, out io.Writer) (lost string,
	err error) {
	ticker := time.NewTicker(o.retry.interval)
	defer ticker.Stop()
	for end := time.Now().Add(o.retry.timeout); ; {
		select {
		case <-ctx.Done():
			return "", nil
		case <-ticker.C:
		}
		lost, err = o.forward(ctx, c, name, func(f forwarded) error {
			_, err := fmt.Fprintf(out, "forwards to pod %s\n", f.Pod)
			return err
		})
		switch {
		case lost != "" || err == nil || ctx.Err() != nil:
			return lost, nil
		case time.Now().After(end):
			return "", fmt.Errorf("%w: gave up after %s", err, o.retry.timeout)
		}
	}
}

// forward forwards to a ready pod until the context ends. It returns the pod without an error if it was connected and
// the connection is lost.
func (o *options) forward(ctx context.Context, c *cluster.Connection, name string, listens func(forwarded) error) (
	lost string, err error) {
	cr, pod, err := c.ReadyPod(ctx, name)
	if err != nil {
		return "", err
	}
	remote := objects.Port(&cr.Spec)
	connected := false
	existing, cancel := context.WithCancel(ctx)
	defer cancel()
	go o.awaitEnd(existing, c, pod, cancel)
	err = c.Forward(existing, pod, cmp.Or(o.local, remote), remote, func(local int32) error {
		err := listens(forwarded{Pod: pod.Name, URL: fmt.Sprintf("%s://127.0.0.1:%d", cluster.Scheme(cr), local)})
		connected = err == nil
		return err
	})
	isGone := existing.Err() != nil && ctx.Err() == nil
	if connected && (err != nil || isGone) {
		return pod.Name, nil
	}
	return "", err
}

// awaitEnd calls ended when the pod is gone, because the connection to it stays open until something is sent.
func (o *options) awaitEnd(ctx context.Context, c *cluster.Connection, pod *corev1.Pod, ended func()) {
	ticker := time.NewTicker(o.retry.interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := &corev1.Pod{}
		err := c.Client.Get(ctx, client.ObjectKeyFromObject(pod), now)
		if apierrors.IsNotFound(err) || err == nil && (now.UID != pod.UID || pods.HasEnded(now)) {
			ended()
			return
		}
	}
}
