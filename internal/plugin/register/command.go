// SPDX-License-Identifier: Apache-2.0

package register

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/image"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

type options struct {
	name      string
	config    string
	source    image.Source
	mountPath string
	namespace string
}

const long = `Print the ConfigMap that registers a distribution with the operator. Custom resources then name it as
"distribution: {name: NAME}".

IMAGE is an image in a registry. Its base configuration and the release of its server are read from its labels, its tag
and its layers, as the operator reads them, with your own credentials: those of "docker login" or "podman login".
FILE is a base configuration (config.yaml). If the flags or the tag name the release, too, the registry is not asked.

The key mountPath is where the PVC of a server is mounted. By default, it is the directory .llama or .ogx that the
configuration names.`

const examples = `  # An image with labels
  kubectl llamastack register registry.example.com/ai/server:1.5.0 --name rh-dev

  # A configuration, and the image that reads it
  kubectl llamastack register config.yaml --image registry.example.com/ai/server:1.5.0 --name rh-dev

  # Apply it
  kubectl llamastack register config.yaml --image registry.example.com/ai/server:nightly --server-version 1.5.0 \
    --name rh-dev | kubectl apply -f -`

// New returns the register command.
func New(streams cli.Streams) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:     "register IMAGE|FILE --name NAME",
		Short:   "Print the ConfigMap that registers a distribution",
		Long:    long,
		Example: examples,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.complete(args[0]); err != nil {
				return err
			}
			return cli.Fail(o.run(cmd.Context(), streams))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.name, "name", "", "name of the distribution, as in spec.distribution.name")
	flags.StringVar(&o.source.Image, "image", "", "image that reads FILE; by default, that of the distribution starter")
	flags.StringVar(&o.config, "config", "", "base configuration of IMAGE (config.yaml), in place of that in its labels")
	flags.StringVar(&o.source.ServerVersion, "server-version", "", "release of the server in the image, such as 1.5.0; by "+
		"default, it is read from the image")
	flags.StringVar(&o.mountPath, "mount-path", "", "mount path of a server's PVC")
	flags.StringVar(&o.namespace, "operator-namespace", settings.DefaultNamespace, "namespace of the operator")
	flags.BoolVar(&o.source.PlainHTTP, "plain-http", false, "connect to the registry without TLS")
	_ = cmd.MarkFlagRequired("name")
	_ = cmd.RegisterFlagCompletionFunc("server-version",
		cobra.FixedCompletions(catalog.Lines(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

var (
	errImageTwice  = errors.New("--image: IMAGE is given as an argument already")
	errConfigTwice = errors.New("--config: the file is given as an argument already")
)

// complete puts the argument into the option that it is for, and validates the command line.
func (o *options) complete(argument string) error {
	switch _, match := catalog.ForVersion(o.source.ServerVersion); {
	case o.source.ServerVersion != "" && match == catalog.NoVersion:
		return fmt.Errorf("--server-version: %q is not a release such as 1.5.0", o.source.ServerVersion)
	case isFile(argument) && o.config != "":
		return errConfigTwice
	case isFile(argument):
		o.config = argument
	case o.source.Image != "":
		return errImageTwice
	default:
		o.source.Image = argument
	}
	return nil
}

// isFile reports whether an argument is a file, which exists or has the extension of one, and not an image.
func isFile(argument string) bool {
	if argument == manifest.Stdin || slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(argument)) {
		return true
	}
	info, err := os.Stat(argument)
	return err == nil && !info.IsDir()
}

func (o *options) run(ctx context.Context, streams cli.Streams) error {
	known, err := settings.Parse(nil)
	if err != nil {
		return err
	}
	var configuration []byte
	if o.config != "" {
		if configuration, err = manifest.ReadBytes(o.config, streams.In); err != nil {
			return err
		}
	}
	var notes []string
	if o.source.Image == "" {
		starter, err := o.starter(known)
		if err != nil {
			return err
		}
		o.source.Image, o.source.ServerVersion = starter.Image, starter.Release
		notes = append(notes, "no --image: the image of the built-in distribution starter is used: "+starter.Image)
	}
	release, configuration, err := o.read(ctx, known, configuration)
	if err != nil {
		return err
	}
	if release == "" {
		notes = append(notes, "nothing names the release of the server: set it with --server-version")
	}
	if configuration == nil {
		notes = append(notes, "the labels of the image have no configuration, so the spec can change nothing in it: pass "+
			"its config.yaml with --config")
	}
	registration := settings.Registration{Image: o.source.Image, ServerVersion: release, Config: string(configuration),
		MountPath: cmp.Or(o.mountPath, mountPath(string(configuration)))}
	cm := registration.ConfigMap(o.namespace, o.name)
	checked, err := settings.Parse(nil, settings.ParseRegistration(cm))
	if err != nil {
		return err
	}
	if problems := checked.Problems(); len(problems) > 0 {
		return problems[0].Err
	}
	for _, p := range checked.BaseProblems(ctx) { // errors first
		if !p.Warning {
			return p.Err
		}
		_, _ = fmt.Fprintf(streams.Err, "warning: %v\n", p.Err)
	}
	for _, note := range notes {
		_, _ = fmt.Fprintln(streams.Err, "note: "+note)
	}
	text, err := cli.YAML(cm)
	if err != nil {
		return err
	}
	_, err = cli.MachineReadable(streams.Out).Write(text)
	return err
}

// starter returns the built-in distribution starter in the release of --server-version.
func (o *options) starter(known *settings.Settings) (*settings.Distribution, error) {
	name := "starter"
	spec := &v1alpha2.DistributionSpec{Name: &name}
	if o.source.ServerVersion != "" {
		spec.Version = &o.source.ServerVersion
	}
	d, p := known.Resolve(spec)
	if p != nil {
		return nil, fmt.Errorf("--server-version: %s", p.Body())
	}
	return d, nil
}

// read returns the release and the configuration of the image. It asks the registry only for what is unknown.
func (o *options) read(ctx context.Context, known *settings.Settings, configuration []byte) (release string, _ []byte,
	_ error) {
	hints := settings.Hints{Version: o.source.ServerVersion}
	_, match := catalog.ForVersion(cmp.Or(o.source.ServerVersion, settings.ImageTag(o.source.Image)))
	if configuration == nil || match == catalog.NoVersion {
		o.source.FindRelease = true
		labels, found, err := o.source.Read(ctx, known)
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", o.source.Image, err)
		}
		hints.Labels, hints.Package = labels, found
		if configuration == nil {
			configuration = labels.Config
		}
	}
	d, p := known.ResolveWithHints(&v1alpha2.DistributionSpec{Image: &o.source.Image}, hints)
	if p != nil {
		return "", nil, fmt.Errorf("%s: %s", o.source.Image, p.Body())
	}
	return d.Release, configuration, nil
}
