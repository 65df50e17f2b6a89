// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/difference"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/files"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

const long = `Show what applying a file would change: the server's config.yaml (compared by meaning), the objects,
whether pods restart, and whether stored data is used from another location. Nothing is changed.

The command renders both sides with the operator's own code: the custom resource in the cluster, and the one in the
file, whose spec replaces the whole spec. It reads no Secrets, so a Secret with a new value is not a difference. The
exit code is 0 if nothing differs, 1 if something does, and greater than 1 for an error.`

const examples = `  # What would this edit do?
  kubectl llamastack diff -f my-stack.yaml

  # In CI: fail if the cluster differs from the repository
  kubectl llamastack diff -f deploy/`

type options struct {
	cluster.Flags
	output            cli.Output
	files             files.Resources
	operatorNamespace string
}

// New returns the diff command.
func New(streams cli.Streams, connect cluster.Connect) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:     "diff -f FILE",
		Short:   "Show what applying a file would change",
		Long:    long,
		Example: examples,
		Args:    files.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(o.output.Check(), manifest.CheckStdin(o.files.Names)); err != nil {
				return err
			}
			connection, err := connect(&o.Flags)
			if err != nil {
				return cli.FailWith(cli.ExitUsage, err)
			}
			return o.run(cmd.Context(), connection, streams)
		},
	}
	o.AddTo(cmd)
	o.output.AddTo(cmd)
	o.files.AddTo(cmd)
	cmd.Flags().StringVar(&o.operatorNamespace, "operator-namespace", settings.DefaultNamespace, "namespace of the "+
		"operator with the settings")
	return cmd
}

type result struct {
	Items []item `json:"items"`
}

// item is the difference of one custom resource.
type item struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// New reports that the cluster does not have the custom resource; Rejected reports that its current spec has errors,
	// so that everything is shown as new.
	New      bool `json:"new,omitempty"`
	Rejected bool `json:"rejected,omitempty"`
	difference.Report
}

// errDiffers means that differences were printed.
var errDiffers = &cli.InputError{}

func (o *options) run(ctx context.Context, c *cluster.Connection, streams cli.Streams) error {
	found, err := o.compare(ctx, c, streams)
	if err != nil {
		return cli.FailWith(cli.ExitUsage, err)
	}
	style := cli.StyleFor(streams.Out)
	if err := o.output.Print(streams.Out, found, func(w io.Writer) error { return found.print(w, style) }); err != nil {
		return cli.FailWith(cli.ExitUsage, err)
	}
	for i := range found.Items {
		if !found.Items[i].Empty() {
			return errDiffers
		}
	}
	return nil
}

var errInvalid = errors.New("the file has errors: nothing would be changed")

func (o *options) compare(ctx context.Context, c *cluster.Connection, streams cli.Streams) (*result, error) {
	documents, err := o.files.Read(streams.In)
	if err != nil {
		return nil, err
	}
	known, _, err := c.Settings(ctx, o.operatorNamespace)
	if err != nil {
		return nil, err
	}
	simulated := offline.NewCluster(known)
	found, failed := &result{Items: []item{}}, false
	for _, d := range documents {
		if !offline.Recognizes(d) {
			continue
		}
		compared, resource, err := compareOne(ctx, c, simulated, documents, d)
		if err != nil {
			return nil, err
		}
		resource.Print(streams.Err)
		if failed = failed || resource.Failed(); compared != nil {
			found.Items = append(found.Items, *compared)
		}
	}
	switch {
	case failed:
		return nil, errInvalid
	case len(found.Items) == 0:
		return nil, files.ErrNoResources
	}
	return found, nil
}

// compareOne compares a document with the cluster. The item is nil if the document has errors.
func compareOne(
	ctx context.Context, c *cluster.Connection, simulated *offline.Cluster, all []*manifest.Document, d *manifest.Document,
) (*item, *offline.Resource, error) {
	namespace := d.Namespace()
	if namespace == "" {
		namespace = c.Namespace
	}
	simulated.Namespace = namespace
	live, configMaps, err := c.Document(ctx, namespace, d)
	if err != nil {
		return nil, nil, err
	}
	simulated.Replacement.Running = cluster.ServerLine(live)
	simulated.SetConfigMaps(append(configMaps, all...)) // files replace objects of the cluster
	after := simulated.DryRun(ctx, d)
	if after.Failed() {
		return nil, after, nil
	}
	compared := &item{Namespace: namespace, Name: after.Name(), New: live == nil}
	before := &offline.Resource{}
	if live != nil {
		simulated.SetConfigMaps(configMaps)
		before = simulated.DryRun(ctx, live)
		compared.Rejected = before.Failed()
	}
	report, err := difference.Between(before.Desired, after.Desired)
	if err != nil {
		return nil, nil, err
	}
	compared.Report = *report
	return compared, after, nil
}
