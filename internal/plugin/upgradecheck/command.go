// SPDX-License-Identifier: Apache-2.0

package upgradecheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha1"
	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/files"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

const long = `Show what another release of the server would change for a custom resource: errors and warnings, added
and removed providers and fields, names of models, and storage locations. The resource is given by name, or in a file,
for which no cluster is needed.

The command renders the configuration for both releases with the operator's own code. It does not know how the new
release migrates its data: read the release notes, and make a backup. The exit code is 1 if the spec requires changes.`

const examples = `  # Can this server move to release 1.5?
  kubectl llamastack upgrade-check my-stack --to 1.5

  # The same for a file, without a cluster
  kubectl llamastack upgrade-check -f my-stack.yaml --to 1.5`

type options struct {
	cluster.Flags
	output            cli.Output
	file              string
	to                string
	settings          files.Settings
	operatorNamespace string
	// clusterFlags are the given flags for cluster and namespace.
	clusterFlags string
}

// New returns the upgrade-check command.
func New(streams cli.Streams, connect cluster.Connect) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:               "upgrade-check NAME|-f FILE --to RELEASE",
		Short:             "Show the changes of another server release",
		Long:              long,
		Example:           examples,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cluster.Names(&o.Flags, connect),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(args); err != nil {
				return err
			}
			o.clusterFlags = clusterFlags(cmd)
			return o.run(cmd.Context(), connect, args, streams)
		},
	}
	o.AddTo(cmd)
	o.output.AddTo(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&o.file, "filename", "f", "", `file with the resource; "-" is standard input`)
	flags.StringVar(&o.to, "to", "", "release of the server, such as 1.5 or 1.5.0")
	flags.StringVar(&o.settings.Name, "settings", "", "for a file: the operator's ConfigMap, as a manifest or only its "+
		"data")
	flags.StringVar(&o.operatorNamespace, "operator-namespace", settings.DefaultNamespace, "for a name: namespace of "+
		"the operator with the settings")
	_ = cmd.MarkFlagRequired("to")
	_ = cmd.RegisterFlagCompletionFunc("to", cobra.FixedCompletions(catalog.Lines(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

var (
	errNameOrFile     = errors.New("set either a name or --filename")
	errNotOneResource = errors.New("the file must contain exactly one LlamaStackDistribution")
)

func (o *options) check(args []string) error {
	if (len(args) == 1) == (o.file != "") {
		return errNameOrFile
	}
	if _, match := catalog.ForVersion(o.to); match != catalog.KnownLine {
		return fmt.Errorf("--to %q: not a release of a known release line: the known release lines are %s", o.to,
			strings.Join(catalog.Lines(), ", "))
	}
	return errors.Join(o.output.Check(), o.settings.CheckStdin(o.file))
}

func (o *options) run(ctx context.Context, connect cluster.Connect, args []string, streams cli.Streams) error {
	simulated, d, err := o.gather(ctx, connect, args, streams)
	if err != nil {
		return cli.Fail(err)
	}
	before := simulated.DryRun(ctx, d)
	if before.Failed() {
		before.Print(streams.Err)
		return cli.Fail(errors.New("the resource has errors with its current release"))
	}
	simulated.Replacement.Version = o.to
	spec, err := specOf(d)
	if err != nil {
		return cli.Fail(err)
	}
	found, err := compare(spec, before, simulated.DryRun(ctx, d))
	if err != nil {
		return cli.Fail(err)
	}
	found.To, found.render = o.to, o.renderCommand(args)
	style := cli.StyleFor(streams.Out)
	if err := o.output.Print(streams.Out, found, func(w io.Writer) error { return found.print(w, style) }); err != nil ||
		found.Possible {
		return cli.Fail(err)
	}
	return &cli.InputError{}
}

func (o *options) renderCommand(args []string) string {
	if len(args) == 1 {
		return fmt.Sprintf("kubectl get llsd %s%s -o yaml | kubectl llamastack render -f - -o config --server-version %s",
			args[0], o.clusterFlags, o.to)
	}
	text := fmt.Sprintf("kubectl llamastack render -f %s -o config --server-version %s", o.file, o.to)
	if o.settings.Name != "" {
		text += " --settings " + o.settings.Name
	}
	return text
}

// clusterFlags returns the given flags for cluster and namespace.
func clusterFlags(cmd *cobra.Command) string {
	var text strings.Builder
	for _, name := range []string{"kubeconfig", "context", "cluster", "user",
		"namespace"} { // never repeat credentials
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed {
			fmt.Fprintf(&text, " --%s=%s", name, flag.Value)
		}
	}
	return text.String()
}

// gather returns the custom resource and the cluster for the dry run.
func (o *options) gather(ctx context.Context, connect cluster.Connect, args []string,
	streams cli.Streams) (*offline.Cluster, *manifest.Document, error) {
	if len(args) == 1 {
		return o.fromCluster(ctx, connect, args[0])
	}
	simulated, err := o.settings.Cluster(streams.In)
	if err != nil {
		return nil, nil, err
	}
	documents, errs := manifest.Read([]string{o.file}, false, streams.In)
	if len(errs) > 0 {
		return nil, nil, errors.Join(errs...)
	}
	var found *manifest.Document
	for _, d := range documents {
		if offline.Recognizes(d) {
			if found != nil {
				return nil, nil, errNotOneResource
			}
			found = d
		}
	}
	if found == nil {
		return nil, nil, errNotOneResource
	}
	simulated.SetConfigMaps(documents)
	return simulated, found, nil
}

func (o *options) fromCluster(ctx context.Context, connect cluster.Connect, name string) (*offline.Cluster,
	*manifest.Document, error) {
	c, err := connect(&o.Flags)
	if err != nil {
		return nil, nil, err
	}
	if _, err := c.Get(ctx, name); err != nil {
		return nil, nil, err
	}
	named := &manifest.Document{Object: map[string]any{"metadata": map[string]any{"name": name}}}
	d, configMaps, err := c.Document(ctx, c.Namespace, named)
	if err != nil {
		return nil, nil, err
	}
	known, _, err := c.Settings(ctx, o.operatorNamespace)
	if err != nil {
		return nil, nil, err
	}
	simulated := offline.NewCluster(known)
	simulated.SetConfigMaps(configMaps)
	return simulated, d, nil
}

func specOf(d *manifest.Document) (*v1alpha2.LlamaStackDistributionSpec, error) {
	object := d.Object
	if d.APIVersion() == v1alpha1.GroupVersion.String() {
		object = v1alpha1.ToV1alpha2(object)
	}
	raw, err := json.Marshal(object["spec"])
	if err != nil {
		return nil, err
	}
	spec := &v1alpha2.LlamaStackDistributionSpec{}
	return spec, json.Unmarshal(raw, spec)
}
