// SPDX-License-Identifier: Apache-2.0

package imagefile

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// WriteProgram packs one static program of this machine's architecture as the image archive of ref.
func WriteProgram(archive, ref, program string) error {
	entry := "/" + filepath.Base(program)
	layer, err := Files([]File{{Source: program, Destination: entry}})
	if err != nil {
		return err
	}
	image, err := Image(layer, v1.Config{Entrypoint: []string{entry}}, v1.Platform{OS: "linux", Architecture: runtime.GOARCH})
	if err != nil {
		return err
	}
	tag, err := name.NewTag(ref)
	if err != nil {
		return err
	}
	return WriteArchive(archive, tag, image)
}

// Read reads a docker-archive file or an OCI layout directory of one image.
func Read(file string) (v1.Image, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return tarball.ImageFromPath(file, nil)
	}
	index, err := layout.ImageIndexFromPath(file)
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("has %d images, must have one", len(manifest.Manifests))
	}
	return index.Image(manifest.Manifests[0].Digest)
}
