// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
)

const (
	// layerBytes is the largest layer that is read, compressed. A layer made for a configuration has a few kilobytes.
	layerBytes = 64 << 20
	// unpackedBytes is the most that a layer may unpack to, and layerEntries how many files it may have.
	unpackedBytes = 256 << 20
	layerEntries  = 50_000
)

// File reads one file of one layer of an image: of several with its path the last, as a runtime would. The layer must be one of the
// image's. The content is at most bounds.ConfigBytes long.
func (c *Client) File(ctx context.Context, reference string, image *Image, layer, file string, keys authn.Keychain) ([]byte, error) {
	ref, trip, err := c.target(reference)
	if err != nil {
		return nil, err
	}
	defer trip.end()
	refuse := func(kind Kind, format string, args ...any) error {
		return &Error{Kind: kind, Reference: ref.Name(), Err: fmt.Errorf(format, args...)}
	}
	blob := image.layer(layer)
	switch {
	case blob == nil:
		return nil, refuse(NotFound, "it has no layer %s", layer)
	case blob.Size > layerBytes:
		return nil, refuse(TooLarge, "layer %s has %d bytes, and at most %d are read: put the file into a layer of its own", layer, blob.Size, layerBytes)
	}
	trip.allowLayer()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	remoteLayer, err := remote.Layer(ref.Context().Digest(layer), c.remoteOptions(ctx, trip, keys)...)
	if err != nil {
		return nil, wrap(ref.Name(), err, trip)
	}
	packed, err := remoteLayer.Compressed() // unpacked here: the library sets no bound to the memory of that
	if err != nil {
		return nil, wrap(ref.Name(), err, trip)
	}
	var content []byte
	err = c.unpack(ctx, cancel, packed, func(unpacked io.Reader) (err error) {
		content, err = fileIn(unpacked, file)
		return err
	})
	if err == nil {
		_, err = io.Copy(io.Discard, packed) // the library verifies the digest when it has read all
	}
	err = errors.Join(err, packed.Close())
	switch {
	case errors.Is(err, errNotTar):
		return nil, refuse(NotAnImage, "layer %s is not a tar archive: %w", layer, err)
	case err != nil:
		return nil, wrap(ref.Name(), err, trip)
	case content == nil:
		return nil, refuse(NoFile, "layer %s has no regular file %s", layer, file)
	}
	return content, nil
}

func (i *Image) layer(digest string) *Blob {
	for n := range i.Layers {
		if i.Layers[n].Digest == digest {
			return &i.Layers[n]
		}
	}
	return nil
}

var errNotTar = errors.New("not a tar archive")

// fileIn returns the content of a file in a tar archive, nil where there is none, and reads the archive to its end.
func fileIn(archive io.Reader, file string) ([]byte, error) {
	limited := &limitedBody{ReadCloser: io.NopCloser(archive), left: unpackedBytes}
	reader := tar.NewReader(limited)
	wanted := clean(file)
	var content []byte
	for n := 0; ; n++ {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, tar.ErrHeader) {
			return nil, fmt.Errorf("%w: %w", errNotTar, err)
		}
		if err != nil {
			return nil, err
		}
		if n == layerEntries {
			return nil, fmt.Errorf("%w: the layer has more than %d files", errTooLarge, layerEntries)
		}
		if header.Typeflag != tar.TypeReg || clean(header.Name) != wanted {
			continue
		}
		if header.Size > bounds.ConfigBytes {
			return nil, fmt.Errorf("%w: file %s has %d bytes, and at most %d are read", errTooLarge, file, header.Size, bounds.ConfigBytes)
		}
		if content, err = io.ReadAll(reader); err != nil {
			return nil, err
		}
	}
	_, err := io.Copy(io.Discard, limited) // what follows the archive's end belongs to what has the digest
	return content, err
}

// clean makes the spellings of a path in an archive one: "./a/b", "/a/b" and "a/b".
func clean(file string) string { return strings.TrimPrefix(path.Clean("/"+file), "/") }
