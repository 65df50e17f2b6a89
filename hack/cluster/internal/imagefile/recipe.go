// SPDX-License-Identifier: Apache-2.0

package imagefile

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// epoch is the time of everything in an image.
var epoch = time.Unix(0, 0).UTC()

// Image makes an image for platform with one layer. Equal arguments give equal digests.
func Image(layer v1.Layer, config v1.Config, platform v1.Platform) (v1.Image, error) {
	image, err := mutate.Append(empty.Image, mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: v1.Time{Time: epoch}, CreatedBy: "hack/cluster/cmd/image"},
	})
	if err != nil {
		return nil, fmt.Errorf("append the layer: %w", err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read the image's config: %w", err)
	}
	file = file.DeepCopy()
	file.Created = v1.Time{Time: epoch}
	file.OS, file.Architecture, file.Variant = platform.OS, platform.Architecture, platform.Variant
	file.Config = config
	return mutate.ConfigFile(image, file)
}

// WriteArchive writes the image to path, as ref. A half-written archive never stands at path.
func WriteArchive(path string, ref name.Tag, image v1.Image) (err error) {
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
	if err := tarball.Write(ref, image, out); err != nil {
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
