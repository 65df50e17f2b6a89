// SPDX-License-Identifier: Apache-2.0

package label

import (
	"errors"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

var errNoRelease = errors.New("no label, tag or Python package of the image names the release of its server")

// release returns the server's release as the operator finds it: empty if a label has it, else from the tag, else from
// the Python package.
func release(what content, ref name.Reference) (string, error) {
	image, err := anyPlatform(what)
	if err != nil {
		return "", err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return "", err
	}
	if known, _ := oci.Read(file.Config.Labels); known.Version != "" {
		return "", nil
	}
	if tag, ok := ref.(name.Tag); ok {
		if _, match := catalog.ForVersion(tag.TagStr()); match != catalog.NoVersion {
			return tag.TagStr(), nil
		}
	}
	layers, err := image.Layers()
	if err != nil {
		return "", err
	}
	search := registry.NewSearch(oci.IsServerPackage)
	for _, layer := range slices.Backward(layers) {
		if err := read(layer, search); err != nil {
			return "", err
		}
		if search.Path == "" {
			continue
		}
		found, err := oci.ReadPackage(search.Head)
		if err != nil {
			return "", err
		}
		return found.Version, nil
	}
	return "", errNoRelease
}

func read(layer v1.Layer, search *registry.Search) error {
	unpacked, err := layer.Uncompressed()
	if err != nil {
		return err
	}
	return errors.Join(search.Layer(unpacked), unpacked.Close())
}

// anyPlatform returns the image, or the first platform image of an index.
func anyPlatform(what content) (v1.Image, error) {
	index, ok := what.(v1.ImageIndex)
	if !ok {
		image, ok := what.(v1.Image)
		if !ok {
			return nil, errNoPlatform
		}
		return image, nil
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	for i := range manifest.Manifests {
		if isForPlatform(&manifest.Manifests[i]) {
			return index.Image(manifest.Manifests[i].Digest)
		}
	}
	return nil, errNoPlatform
}

// isForPlatform reports whether an index entry is a platform image, not an attestation.
func isForPlatform(d *v1.Descriptor) bool {
	return d.MediaType.IsImage() && d.Platform != nil && d.Platform.OS != "unknown"
}
