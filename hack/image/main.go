// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
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
	image, err := options.recipe.build()
	if err != nil {
		return err
	}
	if options.output != "" {
		if err := writeArchive(options.output, options.ref, image); err != nil {
			return err
		}
	}
	if options.push {
		ctx, cancel := context.WithTimeout(ctx, pushTimeout)
		defer cancel()
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

// options are the parsed command line.
type options struct {
	recipe recipe
	ref    name.Tag
	output string
	push   bool
}

func parse(args []string) (options, error) {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	binary := flags.String("binary", "", "static binary that the container starts")
	ref := flags.String("ref", "", "name and tag of the image")
	output := flags.String("output", "", "archive to write")
	push := flags.Bool("push", false, "push the image to the registry that --ref names")
	user := flags.String("user", "65532:65532", "numeric UID:GID that the container runs as")
	entrypoint := flags.String("entrypoint", "", "absolute path of the binary in the image (default /NAME-OF-BINARY)")
	platform := flags.String("platform", "linux/"+runtime.GOARCH, "platform of the binary")
	labels := map[string]string{}
	flags.Func("label", "`KEY=VALUE` of a label (repeatable)", func(value string) error {
		key, text, found := strings.Cut(value, "=")
		if !found || key == "" {
			return errors.New("want KEY=VALUE")
		}
		labels[key] = text
		return nil
	})
	var files []file
	flags.Func("file", "`SRC:DST` of a further file, DST absolute (repeatable)", func(value string) error {
		source, destination, found := strings.Cut(value, ":")
		if !found || source == "" {
			return errors.New("want SRC:DST")
		}
		files = append(files, file{source: source, destination: destination})
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}

	switch {
	case flags.NArg() > 0:
		return options{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case *binary == "":
		return options{}, errors.New("--binary is required: the binary to pack")
	case *output == "" && !*push:
		return options{}, errors.New("nothing to do: give --output, --push, or both")
	}
	tag, err := name.NewTag(*ref, name.StrictValidation)
	if err != nil {
		return options{}, fmt.Errorf("--ref: %w", err)
	}
	target, err := v1.ParsePlatform(*platform)
	if err != nil {
		return options{}, fmt.Errorf("--platform: %w", err)
	}
	if *entrypoint == "" {
		*entrypoint = path.Join("/", filepath.Base(*binary))
	}
	return options{
		recipe: recipe{
			entrypoint: *entrypoint,
			files:      append([]file{{source: *binary, destination: *entrypoint}}, files...),
			user:       *user,
			labels:     labels,
			platform:   *target,
		},
		ref:    tag,
		output: *output,
		push:   *push,
	}, nil
}
