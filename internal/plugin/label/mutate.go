// SPDX-License-Identifier: Apache-2.0

package label

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/match"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
)

const (
	// maxLabelBytes is the size in bytes from which a configuration becomes a layer, because registries and runtimes limit
	// labels.
	maxLabelBytes = 50_000
	layerPath     = "llamastack/config.yaml"
)

var errNoPlatform = errors.New("the index has no image for a platform")

// content is an image, or an index of images.
type content = mutate.Appendable

// addLabels returns the image with the labels and, for a large configuration, the layer.
func addLabels(what content, configuration []byte, version string) (content, error) {
	labels := map[string]string{}
	if version != "" {
		labels[oci.LabelDistributionVersion] = version
	}
	var layer v1.Layer
	if len(configuration) < maxLabelBytes {
		labels[oci.LabelConfigBase64] = base64.StdEncoding.EncodeToString(configuration)
	} else {
		var err error
		if layer, err = layerOf(configuration); err != nil {
			return nil, err
		}
		digest, err := layer.Digest()
		if err != nil {
			return nil, err
		}
		labels[oci.LabelConfigLayer], labels[oci.LabelConfigPath] = digest.String(), "/"+layerPath
	}
	switch what := what.(type) {
	case v1.ImageIndex:
		return labelIndex(what, labels, layer)
	case v1.Image:
		return labelImage(what, labels, layer)
	}
	return nil, fmt.Errorf("neither an image nor an index: %T", what)
}

// labelIndex labels the image of each platform. Other entries, such as attestations, are kept.
func labelIndex(index v1.ImageIndex, labels map[string]string, layer v1.Layer) (v1.ImageIndex, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	labeled, replaced := index, 0
	var additions []mutate.IndexAddendum
	for i := range manifest.Manifests {
		d := &manifest.Manifests[i]
		if !isForPlatform(d) {
			continue
		}
		image, err := index.Image(d.Digest)
		if err != nil {
			return nil, err
		}
		if image, err = labelImage(image, labels, layer); err != nil {
			return nil, err
		}
		labeled = mutate.RemoveManifests(labeled, match.Digests(d.Digest))
		additions = append(additions, mutate.IndexAddendum{Add: image,
			Descriptor: v1.Descriptor{Platform: d.Platform, Annotations: d.Annotations}})
		replaced++
	}
	if replaced == 0 {
		return nil, errNoPlatform
	}
	return mutate.AppendManifests(labeled, additions...), nil
}

// labelImage replaces the configuration labels and keeps all others.
func labelImage(image v1.Image, labels map[string]string, layer v1.Layer) (v1.Image, error) {
	if layer != nil {
		added := mutate.Addendum{Layer: layer, History: v1.History{CreatedBy: "kubectl llamastack label"}}
		kind, err := image.MediaType()
		if err != nil {
			return nil, err
		}
		if kind == types.DockerManifestSchema2 {
			added.MediaType = types.DockerLayer
		}
		if image, err = mutate.Append(image, added); err != nil {
			return nil, err
		}
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	kept := maps.Clone(file.Config.Labels)
	if kept == nil {
		kept = map[string]string{}
	}
	for _, key := range []string{oci.LabelConfigBase64, oci.LabelConfigLayer, oci.LabelConfigPath,
		oci.LabelConfigVersion} {
		delete(kept, key)
	}
	maps.Copy(kept, labels)
	file.Config.Labels = kept
	return mutate.ConfigFile(image, file)
}

// layerOf returns a reproducible layer that contains only the configuration.
func layerOf(configuration []byte) (v1.Layer, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := w.WriteHeader(&tar.Header{Name: layerPath, Mode: 0o644, Size: int64(len(configuration)),
		Typeflag: tar.TypeReg}); err != nil {
		return nil, err
	}
	if _, err := w.Write(configuration); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer),
	)
}

func push(ctx context.Context, ref name.Reference, what content) error {
	switch what := what.(type) {
	case v1.ImageIndex:
		return remote.WriteIndex(ref, what, remoteOptions(ctx)...)
	case v1.Image:
		return remote.Write(ref, what, remoteOptions(ctx)...)
	}
	return fmt.Errorf("neither an image nor an index: %T", what)
}
