// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// recipe says what goes into an image.
type recipe struct {
	entrypoint string            // absolute path of what the container starts
	files      []file            // in any order
	user       string            // UID:GID
	labels     map[string]string // OCI annotations, as labels of the image
	platform   v1.Platform
}

// file is a regular file of this machine and its place in the image.
type file struct {
	source      string
	destination string // absolute
}

// epoch is the time of everything in an image.
var epoch = time.Unix(0, 0).UTC()

// numericUser is what a kubelet can check against runAsNonRoot; it cannot look a name up.
var numericUser = regexp.MustCompile(`^\d+:\d+$`)

// build makes the image. Equal recipes over equal files give equal digests.
func (r recipe) build() (v1.Image, error) {
	if !numericUser.MatchString(r.user) {
		return nil, fmt.Errorf("--user %q: want UID:GID as numbers, such as 65532:65532", r.user)
	}
	content, err := layerContent(r.files)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	})
	if err != nil {
		return nil, fmt.Errorf("make the layer: %w", err)
	}
	image, err := mutate.Append(empty.Image, mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: v1.Time{Time: epoch}, CreatedBy: "hack/image"},
	})
	if err != nil {
		return nil, fmt.Errorf("append the layer: %w", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read the image's config: %w", err)
	}
	config = config.DeepCopy()
	config.Created = v1.Time{Time: epoch}
	config.OS, config.Architecture, config.Variant = r.platform.OS, r.platform.Architecture, r.platform.Variant
	config.Config = v1.Config{
		Entrypoint: []string{r.entrypoint},
		Env:        []string{"PATH=/"},
		Labels:     r.labels,
		User:       r.user,
		WorkingDir: "/",
	}
	return mutate.ConfigFile(image, config)
}

// writeArchive writes the image to path; a half-written archive never stands there.
func writeArchive(path string, tag name.Tag, image v1.Image) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	out, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	defer func() {
		if err != nil {
			_ = out.Close()
			_ = os.Remove(out.Name())
		}
	}()
	if err := tarball.Write(tag, image, out); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	if err := out.Chmod(0o644); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	return os.Rename(out.Name(), path)
}

// push uploads the image to the registry that tag names, with the credentials of the user's container tools.
func push(ctx context.Context, tag name.Tag, image v1.Image) error {
	err := remote.Write(tag, image, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return fmt.Errorf("push %s: %w", tag, err)
	}
	return nil
}
