// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/metrics"
)

const (
	// layerBytes is the size limit of one compressed layer.
	layerBytes = 64 << 20
	// layersBytes is the size limit of all compressed layers read for one file.
	layersBytes = 4 * layerBytes
	// unpackedBytes and layerEntries bound the unpacked size and the number of files of these layers.
	unpackedBytes = 256 << 20
	layerEntries  = 50_000
	// maxLayers is the largest number of layers; container runtimes mount no more.
	maxLayers = 127
)

// budget is what may still be read for one file: bytes received, bytes unpacked, and tar entries.
type budget struct {
	packed, unpacked int64
	entries          int
}

func newBudget() *budget {
	return &budget{packed: layersBytes, unpacked: unpackedBytes, entries: layerEntries}
}

// File reads a file of one layer of the image, up to limits.ConfigBytes. If the path occurs twice, the last entry wins,
// as in a container runtime.
func (c *Client) File(ctx context.Context, reference string, image *Image, layer, file string,
	keys authn.Keychain) ([]byte, error) {
	return locate(ctx, c, metrics.RegistryFile, reference, func(ref name.Reference, trip *roundTripper) ([]byte, error) {
		return c.fileAt(ctx, ref, trip, image, layer, file, keys)
	})
}

func (c *Client) fileAt(
	ctx context.Context, ref name.Reference, trip *roundTripper, image *Image, layer, file string, keys authn.Keychain,
) ([]byte, error) {
	trip.allowLayer(layerBytes)
	blob := image.layer(layer)
	if blob == nil {
		return nil, newError(ref, NotFound, "it has no layer %s", layer)
	}
	found, err := c.searchLayer(ctx, ref, trip, blob, file, keys, newBudget())
	switch {
	case err != nil:
		return nil, err
	case found.content == nil:
		return nil, newError(ref, NoFile, "layer %s has no regular file %s", layer, file)
	}
	return found.content, nil
}

// FindFile reads a file as a container sees it, up to limits.ConfigBytes. It reads the layers from the highest down
// until one has or deletes the file.
func (c *Client) FindFile(ctx context.Context, reference string, image *Image, file string,
	keys authn.Keychain) ([]byte, error) {
	return locate(ctx, c, metrics.RegistryFile, reference, func(ref name.Reference, trip *roundTripper) ([]byte, error) {
		return c.findFileAt(ctx, ref, trip, image, file, keys)
	})
}

func (c *Client) findFileAt(
	ctx context.Context, ref name.Reference, trip *roundTripper, image *Image, file string, keys authn.Keychain,
) ([]byte, error) {
	trip.allowLayer(layerBytes)
	if len(image.Layers) > maxLayers {
		return nil, newError(ref, TooLarge, "it has %d layers, more than the limit of %d", len(image.Layers), maxLayers)
	}
	left := newBudget()
	for i := range slices.Backward(image.Layers) {
		layer := &image.Layers[i]
		if layer.Size < 0 {
			return nil, newError(ref, NotAnImage, "layer %s has the size %d", layer.Digest, layer.Size)
		}
		if layer.Size > left.packed {
			return nil, newError(ref, TooLarge, "the layers above the one with %s have more than %d bytes: put the file into "+
				"the highest layer", file, layersBytes)
		}
		found, err := c.searchLayer(ctx, ref, trip, layer, file, keys, left)
		switch {
		case err != nil:
			return nil, err
		case found.content != nil:
			return found.content, nil
		case found.hidden:
			return nil, newError(ref, NoFile, "it has no regular file %s", file)
		}
	}
	return nil, newError(ref, NoFile, "it has no regular file %s", file)
}

// searchLayer searches a layer for a file within the budget.
func (c *Client) searchLayer(
	ctx context.Context, ref name.Reference, trip *roundTripper, layer *Blob, file string, keys authn.Keychain,
	left *budget,
) (*layerResult, error) {
	if layer.Size > layerBytes {
		return nil, newError(ref, TooLarge, "layer %s has %d bytes, more than the limit of %d: put the file into a layer "+
			"of its own", layer.Digest, layer.Size,
			layerBytes)
	}
	var found *layerResult
	err := c.read(ctx, ref, trip, layer, keys, &left.packed, func(unpacked io.Reader) (err error) {
		found, err = left.fileIn(unpacked, file)
		return err
	})
	return found, err
}

// read calls a function with the unpacked layer and subtracts the bytes received from left. It always verifies the
// digest.
func (c *Client) read(
	ctx context.Context, ref name.Reference, trip *roundTripper, layer *Blob, keys authn.Keychain, left *int64,
	read func(unpacked io.Reader) error,
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	remoteLayer, err := remote.Layer(ref.Context().Digest(layer.Digest), c.remoteOptions(ctx, trip, keys)...)
	if err != nil {
		return err
	}
	body, err := remoteLayer.Compressed() // unpacked here, because the library does not bound the memory
	if err != nil {
		return err
	}
	packed := &limitedBody{ReadCloser: body, left: *left}
	defer func() { *left = packed.left }()
	err = c.unpack(ctx, cancel, packed, read)
	if err == nil {
		_, err = io.Copy(io.Discard, packed) // the library verifies the digest at EOF
	}
	err = errors.Join(err, packed.Close())
	if errors.Is(err, errNotTar) {
		return newError(ref, NotAnImage, "layer %s is not a tar archive: %w", layer.Digest, err)
	}
	return err
}

func newError(ref name.Reference, kind Kind, format string, args ...any) error {
	return &Error{Kind: kind, Reference: ref.Name(), Err: fmt.Errorf(format, args...)}
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

type layerResult struct {
	content []byte
	// hidden reports that the layer deletes or replaces the path of lower layers.
	hidden bool
}

// fileIn searches a tar archive for a file and reads the archive to its end.
func (b *budget) fileIn(archive io.Reader, file string) (*layerResult, error) {
	limited := &limitedBody{ReadCloser: io.NopCloser(archive), left: b.unpacked}
	defer func() { b.unpacked = limited.left }()
	reader := tar.NewReader(limited)
	target := clean(file)
	found := &layerResult{}
	for {
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
		b.entries--
		if b.entries < 0 {
			return nil, newSafeError(errTooLarge, "the layers down to the one with %s have more than %d files", file,
				layerEntries)
		}
		at := clean(header.Name)
		found.hidden = found.hidden || hides(at, header.Typeflag, target)
		if header.Typeflag != tar.TypeReg || at != target {
			continue
		}
		if header.Size > limits.ConfigBytes {
			return nil, newSafeError(errTooLarge, "file %s has %d bytes, more than the limit of %d", file, header.Size,
				limits.ConfigBytes)
		}
		if found.content, err = io.ReadAll(reader); err != nil {
			return nil, err
		}
	}
	_, err := io.Copy(io.Discard, limited) // the digest covers trailing bytes
	return found, err
}

// The names of whiteout entries: a prefix for one deleted path, and the name that hides a whole directory.
const (
	whiteout       = ".wh."
	opaqueWhiteout = ".wh..wh..opq"
)

// hides reports whether a layer entry hides a path of lower layers: a whiteout of it or of a parent directory, or a
// non-directory in place of either.
func hides(entry string, kind byte, target string) bool {
	dir, base := path.Split(entry)
	switch {
	case base == opaqueWhiteout:
		return strings.HasPrefix(target, dir)
	case strings.HasPrefix(base, whiteout):
		entry = dir + strings.TrimPrefix(base, whiteout)
	case kind == tar.TypeDir && entry != target:
		return false
	}
	return entry == target || strings.HasPrefix(target, entry+"/")
}

// clean normalizes a path in an archive: "./a/b" and "/a/b" become "a/b".
func clean(file string) string { return strings.TrimPrefix(path.Clean("/"+file), "/") }
