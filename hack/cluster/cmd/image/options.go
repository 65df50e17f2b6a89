// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/imagefile"
)

// options are the parsed command line.
type options struct {
	files    []imagefile.File // of an image of single files
	root     string           // of an image of a whole root file system
	config   v1.Config
	platform v1.Platform
	ref      name.Tag
	output   string
	push     bool
}

// numericUser is what a kubelet can check against runAsNonRoot; it cannot look a name up.
var numericUser = regexp.MustCompile(`^\d+:\d+$`)

func parse(args []string) (options, error) {
	o := options{config: v1.Config{Env: []string{}, Labels: map[string]string{}}}
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	binary := flags.String("binary", "", "static binary that the container starts")
	flags.StringVar(&o.root, "root", "", "directory that becomes the root file system, in place of --binary")
	ref := flags.String("ref", "", "name and tag of the image")
	flags.StringVar(&o.output, "output", "", "archive to write")
	flags.BoolVar(&o.push, "push", false, "push the image to the registry that --ref names")
	flags.StringVar(&o.config.User, "user", "", "numeric UID:GID that the container runs as (default 65532:65532 with --binary, none with --root)")
	entrypoint := flags.String("entrypoint", "", "absolute path of the program that the container starts (default /NAME-OF-BINARY)")
	flags.StringVar(&o.config.WorkingDir, "workdir", "/", "working directory of the container")
	platform := flags.String("platform", "linux/"+runtime.GOARCH, "platform of the binary")
	flags.Func("label", "`KEY=VALUE` of a label (repeatable)", keyValue(func(key, value string) { o.config.Labels[key] = value }))
	flags.Func("env", "`KEY=VALUE` of an environment variable (repeatable; default PATH=/ with --binary)",
		keyValue(func(key, value string) { o.config.Env = append(o.config.Env, key+"="+value) }))
	flags.Func("file", "`SRC:DST` of an additional file, DST absolute (repeatable, with --binary)", func(value string) error {
		source, destination, found := strings.Cut(value, ":")
		if !found || source == "" {
			return errors.New("must be SRC:DST")
		}
		o.files = append(o.files, imagefile.File{Source: source, Destination: destination})
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err := o.complete(*binary, *entrypoint); err != nil {
		return options{}, err
	}
	tag, err := name.NewTag(*ref, name.StrictValidation)
	if err != nil {
		return options{}, fmt.Errorf("--ref: %w", err)
	}
	target, err := v1.ParsePlatform(*platform)
	if err != nil {
		return options{}, fmt.Errorf("--platform: %w", err)
	}
	o.ref, o.platform = tag, *target
	return o, nil
}

// keyValue parses KEY=VALUE.
func keyValue(set func(key, value string)) func(string) error {
	return func(text string) error {
		key, value, found := strings.Cut(text, "=")
		if !found || key == "" {
			return errors.New("must be KEY=VALUE")
		}
		set(key, value)
		return nil
	}
}

// complete checks what goes into the image, and sets the defaults that depend on it.
func (o *options) complete(binary, entrypoint string) error {
	switch {
	case (binary == "") == (o.root == ""):
		return errors.New("--binary or --root is required: the binary to pack, or the root file system")
	case o.output == "" && !o.push:
		return errors.New("nothing to do: set --output, --push, or both")
	case o.root != "" && len(o.files) > 0:
		return errors.New("--file requires --binary: add the file to the root file system")
	case o.root != "" && entrypoint == "":
		return errors.New("--root needs --entrypoint: the absolute path of the program that the container starts")
	}
	if binary != "" {
		if entrypoint == "" {
			entrypoint = path.Join("/", filepath.Base(binary))
		}
		o.files = append([]imagefile.File{{Source: binary, Destination: entrypoint}}, o.files...)
		if o.config.User == "" {
			o.config.User = "65532:65532"
		}
		if len(o.config.Env) == 0 {
			o.config.Env = []string{"PATH=/"}
		}
	}
	if o.config.User != "" && !numericUser.MatchString(o.config.User) {
		return fmt.Errorf("--user %q: must be a numeric UID:GID, such as 65532:65532", o.config.User)
	}
	o.config.Entrypoint = []string{entrypoint}
	return nil
}

// layer packs what is in the image. forget removes what the layer needs until the image is written.
func (o *options) layer() (layer v1.Layer, cleanup func(), err error) {
	if o.root == "" {
		layer, err = imagefile.Files(o.files)
		return layer, func() {}, err
	}
	directory := os.TempDir()
	if o.output != "" { // has room for the archive, so for the layer too
		directory = filepath.Dir(o.output)
	}
	scratch, err := os.CreateTemp(directory, "layer-*")
	if err != nil {
		return nil, nil, err
	}
	cleanup = func() { _ = os.Remove(scratch.Name()) }
	if err := scratch.Close(); err != nil {
		return nil, cleanup, err
	}
	if layer, err = imagefile.Tree(o.root, scratch.Name()); err != nil {
		cleanup()
		return nil, nil, err
	}
	return layer, cleanup, nil
}
