// SPDX-License-Identifier: Apache-2.0

package label

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/spf13/cobra"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

type options struct {
	config        string
	serverVersion string
	push          bool
	output        string
	plainHTTP     bool
}

const long = `Add a base configuration to the labels of an image, where the operator finds it. No container engine is
needed.

IMAGE is an image in a registry, or oci-archive:FILE for an image archive in the OCI layout. The image keeps its
layers. A configuration of 50 KB or more becomes a separate layer, which the labels name. For an image of several
platforms, the image of each platform gets the labels. The digest of the image changes.

The release of the server becomes a label, too. Without --server-version, it is read from an existing label of the
image, then from its tag, then from the server's Python package in its layers.

The command uses your own registry credentials, those of "docker login" or "podman login".`

const examples = `  # Label an image in its registry
  kubectl llamastack label registry.example.com/ai/server:1.5.0 --config config.yaml --push

  # Say which release of the server is in the image
  kubectl llamastack label registry.example.com/ai/server:nightly --config config.yaml --server-version 1.5.0 --push

  # From archive to archive, for a registry that this machine cannot reach
  kubectl llamastack label oci-archive:server.tar --config config.yaml -o labeled.tar`

var (
	errNoDestination = errors.New("set --push, or --output with the path of an archive")
	errDigest        = errors.New("labels change the digest of the image: use a tag")
	errArchive       = errors.New("--push requires an image in a registry, not an archive")
)

// New returns the label command.
func New(streams cli.Streams) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:     "label IMAGE --config FILE",
		Short:   "Add a base configuration and the server's release to the labels of an image",
		Long:    long,
		Example: examples,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref, err := o.check(args[0])
			if err != nil {
				return err
			}
			return cli.Fail(o.run(cmd.Context(), args[0], ref, streams))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.config, "config", "", `base configuration (config.yaml); "-" is standard input`)
	flags.StringVar(&o.serverVersion, "server-version", "", "release of the server in the image, such as 1.5.0; by "+
		"default, it is read from the image")
	flags.BoolVar(&o.push, "push", false, "push the image to its registry, under the same tag")
	flags.StringVarP(&o.output, "output", "o", "", "write the image as an archive in the OCI layout")
	flags.BoolVar(&o.plainHTTP, "plain-http", false, "connect to the registry without TLS")
	_ = cmd.MarkFlagRequired("config")
	_ = cmd.RegisterFlagCompletionFunc("server-version",
		cobra.FixedCompletions(catalog.Lines(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// check validates the command line and returns the image reference; nil for an archive.
func (o *options) check(image string) (name.Reference, error) {
	_, archived := archiveOf(image)
	switch _, match := catalog.ForVersion(o.serverVersion); {
	case !o.push && o.output == "":
		return nil, errNoDestination
	case o.serverVersion != "" && match == catalog.NoVersion:
		return nil, fmt.Errorf("--server-version: %q is not a release such as 1.5.0", o.serverVersion)
	case o.push && archived:
		return nil, errArchive
	case archived:
		return nil, nil
	}
	var options []name.Option
	if o.plainHTTP {
		options = append(options, name.Insecure)
	}
	ref, err := name.ParseReference(image, options...)
	if err != nil {
		return nil, fmt.Errorf("IMAGE: %w", err)
	}
	if _, isDigest := ref.(name.Digest); isDigest && o.push {
		return nil, errDigest
	}
	return ref, nil
}

func (o *options) run(ctx context.Context, image string, ref name.Reference, streams cli.Streams) error {
	content, err := manifest.ReadBytes(o.config, streams.In)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	base, err := serverconfig.ParseBase(image, content)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	original, done, err := open(ctx, image, ref)
	if err != nil {
		return err
	}
	defer done()
	version := o.serverVersion
	if version == "" {
		if version, err = release(original, ref); err != nil {
			_, _ = fmt.Fprintf(streams.Err, "note: %v; set the release with --server-version\n", err)
		}
	}
	if line, _ := catalog.ForVersion(version); line != nil {
		for _, p := range serverconfig.CheckBase(ctx, base, line, version, o.config) {
			_, _ = fmt.Fprintf(streams.Err, "warning: %s\n", p.Text)
		}
	}
	labeled, err := addLabels(original, content, version)
	if err != nil {
		return err
	}
	if o.output != "" {
		if err := save(labeled, image, o.output); err != nil {
			return err
		}
	}
	if o.push {
		if err := push(ctx, ref, labeled); err != nil {
			return err
		}
	}
	digest, err := labeled.Digest()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(streams.Out, digest)
	return err
}

// open returns the image of a reference or archive. Layers are read on demand until done is called.
func open(ctx context.Context, image string, ref name.Reference) (_ content, done func(), _ error) {
	if file, ok := archiveOf(image); ok {
		return load(file)
	}
	descriptor, err := remote.Get(ref, remoteOptions(ctx)...)
	if err != nil {
		return nil, nil, err
	}
	noCleanup := func() {}
	if descriptor.MediaType.IsIndex() {
		index, err := descriptor.ImageIndex()
		return index, noCleanup, err
	}
	found, err := descriptor.Image()
	return found, noCleanup, err
}

func remoteOptions(ctx context.Context) []remote.Option {
	return []remote.Option{
		remote.WithContext(ctx), remote.WithTransport(transport{}), remote.WithAuthFromKeychain(authn.DefaultKeychain),
		remote.WithUserAgent("kubectl-llamastack"),
	}
}

// transport refuses redirects of writes. Reads may be redirected to storage, and the library refuses private addresses
// there.
type transport struct{}

func (transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodGet || request.Method == http.MethodHead {
		return remote.DefaultTransport.RoundTrip(request)
	}
	return cluster.RejectRedirects(remote.DefaultTransport).RoundTrip(request)
}
