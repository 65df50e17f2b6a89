// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// refName is the annotation with the reference of an image in an OCI layout.
const refName = "org.opencontainers.image.ref.name"

// images writes the images of all architectures into one OCI archive, under one digest.
func (r *release) images() (err error) {
	archives, err := filepath.Glob(filepath.Join(r.build, "image", "linux-*.tar")) // sorted
	if err != nil {
		return err
	}
	if len(archives) == 0 {
		return fmt.Errorf("no images in %s", filepath.Join(r.build, "image"))
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, archive := range archives {
		image, err := tarball.ImageFromPath(archive, nil)
		if err != nil {
			return err
		}
		image = mutate.ConfigMediaType(mutate.MediaType(image, types.OCIManifestSchema1), types.OCIConfigJSON)
		config, err := image.ConfigFile()
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: config.Platform()}})
		arch := strings.TrimSuffix(filepath.Base(archive), ".tar")
		if err := r.sbom(filepath.Join(r.build, "image", "manager-"+arch), "operator-image-"+arch); err != nil {
			return err
		}
	}
	scratch, err := os.MkdirTemp(r.build, "layout-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	if err := writeLayout(scratch, index, r.image); err != nil {
		return err
	}
	files, err := tree(scratch, "")
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.path("operator-image.digest"), []byte(digest.String()+"\n"), 0o644); err != nil {
		return err
	}
	return writeTarFile(r.path("operator-image.oci.tar"), files)
}

func writeLayout(dir string, index v1.ImageIndex, ref string) error {
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	return path.AppendIndex(index, layout.WithAnnotations(map[string]string{refName: ref}))
}

func writeTarFile(name string, files []file) (err error) {
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	return writeTar(out, files)
}
