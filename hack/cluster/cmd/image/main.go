// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/imagefile"
)

// pushTimeout bounds a whole push.
const pushTimeout = 10 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		stop()
		os.Exit(1)
	}
}

// run packs the image that args describe, writes and pushes it as asked, and prints its name and digest.
func run(ctx context.Context, args []string, out io.Writer) error {
	options, err := parse(args)
	if err != nil {
		return err
	}
	layer, cleanup, err := options.layer()
	if err != nil {
		return err
	}
	defer cleanup()
	image, err := imagefile.Image(layer, options.config, options.platform)
	if err != nil {
		return err
	}
	if options.output != "" {
		if err := imagefile.WriteArchive(options.output, options.ref, image); err != nil {
			return err
		}
	}
	if options.push {
		if err := push(ctx, options.ref, image); err != nil {
			return err
		}
	}
	digest, err := image.Digest()
	if err != nil {
		return fmt.Errorf("digest: %w", err)
	}
	_, err = fmt.Fprintf(out, "%s@%s\n", options.ref.Name(), digest)
	return err
}

// push uploads the image to the registry that tag names, with the credentials of the user's container tools.
func push(ctx context.Context, tag name.Tag, image v1.Image) error {
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	if err := remote.Write(tag, image, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("push %s: %w", tag, err)
	}
	return nil
}
