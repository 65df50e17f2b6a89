// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/files"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

type options struct {
	files         files.Resources
	output        string
	base          string
	serverVersion string
	imageLabels   string
	image         string
	plainHTTP     bool
	settings      files.ClusterSettings
	namespace     string
}

const long = `Show the configuration and the objects that the operator would create for a LlamaStackDistribution. Only
--from-cluster connects to a cluster, to read the operator's settings.

The command uses the operator's own code, so an operator of this version applies the same objects. Warnings and errors
are written to standard error. If there is an error, nothing else is printed. Secrets are not read: the command
assumes that they exist. For values that only the operator in its cluster knows, it prints <on-cluster>.`

const examples = `  # The config.yaml that the server gets
  kubectl llamastack render -f my-stack.yaml

  # All objects that the operator applies
  kubectl llamastack render -f my-stack.yaml -o yaml

  # The environment of the container, and the Secrets that it comes from
  kubectl llamastack render -f my-stack.yaml -o env

  # Who may do what with the server
  kubectl llamastack render -f my-stack.yaml -o access

  # With the distributions that the operator of a cluster knows
  kubectl llamastack render -f my-stack.yaml --from-cluster

  # The same from a file
  kubectl llamastack render -f my-stack.yaml --settings settings.yaml

  # With a base configuration that is not registered yet
  kubectl llamastack render -f my-stack.yaml --base config.yaml --server-version 0.7.1

  # With what the labels of its image say, read from the registry
  kubectl llamastack render -f my-stack.yaml --image registry.example.com/my-stack:1.5.0

  # With labels from a file
  crane config registry.example.com/my-stack:1.5.0 > image.json
  kubectl llamastack render -f my-stack.yaml --image-labels image.json

  # What an edit of a running server would change
  kubectl get llsd my-stack -o yaml | kubectl llamastack render -f - > before.yaml`

// New returns the render command.
func New(streams cli.Streams, connect cluster.Connect) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:     "render -f FILE",
		Short:   "Show the configuration and the objects that the operator would create",
		Long:    long,
		Example: examples,
		Args:    files.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return o.run(cmd.Context(), streams)
		},
	}
	flags := cmd.Flags()
	o.files.AddTo(cmd)
	flags.StringVarP(&o.output, "output", "o", formatConfig, "output: "+strings.Join(formats(), ", "))
	flags.StringVar(&o.base, "base", "", "base configuration of the distribution (config.yaml), in place of a "+
		"registered one")
	flags.StringVar(&o.serverVersion, "server-version", "", "release of the server in the image, such as 0.7.1")
	flags.StringVar(&o.imageLabels, "image-labels", "", "labels of the distribution's image: a JSON object, or the "+
		"image's configuration")
	flags.StringVar(&o.image, "image", "", "read the labels of this image from its registry, with your own credentials")
	flags.BoolVar(&o.plainHTTP, "plain-http", false, "connect to the registry of --image without TLS")
	o.settings.AddTo(cmd, connect)
	flags.StringVarP(&o.namespace, "namespace", "n", "",
		`namespace of resources without one (default "`+offline.DefaultNamespace+`")`)
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("server-version",
		cobra.FixedCompletions(catalog.Lines(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *options) check() error {
	if !slices.Contains(formats(), o.output) {
		return fmt.Errorf("--output %q: choose one of %s", o.output, strings.Join(formats(), ", "))
	}
	if o.image != "" && o.imageLabels != "" {
		return errors.New("--image and --image-labels are mutually exclusive")
	}
	if o.serverVersion != "" {
		switch _, match := catalog.ForVersion(o.serverVersion); match {
		case catalog.KnownLine, catalog.Newer:
		case catalog.NoVersion, catalog.TooOld:
			return fmt.Errorf("--server-version: %q is not in a known release line: the known release lines are %s",
				o.serverVersion, strings.Join(catalog.Lines(), ", "))
		}
	}
	return o.settings.CheckStdin(append([]string{o.base, o.imageLabels}, o.files.Names...)...)
}

func (o *options) run(ctx context.Context, streams cli.Streams) error {
	in, err := gather(ctx, o, streams)
	if err != nil {
		return cli.Fail(err)
	}
	resources := in.dryRun(ctx)
	in.noteSkipped(resources, streams.Err)
	failed := false
	for _, r := range resources {
		r.Print(streams.Err)
		r.PrintNotes(streams.Err)
		failed = failed || r.Failed()
	}
	switch {
	case failed:
		return &cli.InputError{}
	case len(resources) == 0:
		return cli.Fail(files.ErrNoResources)
	}
	o.settings.PrintAssumedNote(resources, streams.Err)
	return cli.Fail(show(resources, o.output, streams))
}
