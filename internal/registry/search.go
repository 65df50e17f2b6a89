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
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/llamastack/llama-stack-k8s-operator/internal/metrics"
)

const (
	// searchBytes bounds the compressed layers read in a search, in bytes; the layers with the server's Python packages
	// have some hundred megabytes.
	searchBytes = 2 << 30
	// searchUnpackedBytes and searchEntries bound the unpacked size and the number of files of these layers.
	searchUnpackedBytes = 8 << 30
	searchEntries       = 500_000
	// searchTime bounds a search; it is below the caller's minute, so that a slow search is not retried as a timeout.
	searchTime = 45 * time.Second
	headBytes  = 4 << 10
	// whiteoutBytes bounds the names of deleted files.
	whiteoutBytes = 256 << 10
)

// Search finds the first visible file of an image whose path matches. The caller passes the layers from the highest
// down.
type Search struct {
	// Path is the path of the file and Head its first 4 KiB; empty until it is found.
	Path string
	Head []byte

	matches   func(file string) bool
	unpacked  int64
	entries   int
	whiteouts []string
	names     int
}

// NewSearch returns a Search. The paths passed to matches have no leading slash.
func NewSearch(matches func(file string) bool) *Search {
	return &Search{matches: matches, unpacked: searchUnpackedBytes, entries: searchEntries}
}

// Layer reads an unpacked layer until the file is found.
func (s *Search) Layer(unpacked io.Reader) error {
	limited := &limitedBody{ReadCloser: io.NopCloser(unpacked), left: s.unpacked}
	defer func() { s.unpacked = limited.left }()
	reader := tar.NewReader(limited)
	above := s.whiteouts // whiteouts apply only to lower layers
	for {
		header, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, tar.ErrHeader):
			return fmt.Errorf("%w: %w", errNotTar, err)
		case err != nil:
			return err
		}
		s.entries--
		if s.entries < 0 {
			return fmt.Errorf("%w: it has more than %d files", errTooLarge, searchEntries)
		}
		at := clean(header.Name)
		switch {
		case strings.HasPrefix(path.Base(at), whiteout):
			if s.names += len(at); s.names > whiteoutBytes {
				return fmt.Errorf("%w: its layers delete too many files", errTooLarge)
			}
			s.whiteouts = append(s.whiteouts, at)
		case header.Typeflag == tar.TypeReg && s.matches(at) && !isHidden(at, above):
			s.Path = at
			s.Head, err = io.ReadAll(io.LimitReader(reader, headBytes))
			return err
		}
	}
}

func isHidden(file string, whiteouts []string) bool {
	return slices.ContainsFunc(whiteouts, func(entry string) bool { return hides(entry, tar.TypeReg, file) })
}

// FindMatch returns the first 4 KiB of the first visible file whose path matches, reading layers from the highest down
// for at most 45 seconds. what names the file in errors.
func (c *Client) FindMatch(
	ctx context.Context,
	reference string,
	image *Image,
	description string,
	matches func(file string) bool,
	keys authn.Keychain,
) ([]byte, error) {
	return locate(ctx, c, metrics.RegistryFile, reference, func(ref name.Reference, trip *roundTripper) ([]byte, error) {
		return c.findMatchAt(ctx, ref, trip, image, description, matches, keys)
	})
}

func (c *Client) findMatchAt(
	ctx context.Context, ref name.Reference, trip *roundTripper, image *Image, description string,
	matches func(file string) bool, keys authn.Keychain,
) ([]byte, error) {
	trip.allowLayer(searchBytes)
	if len(image.Layers) > maxLayers {
		return nil, newError(ref, TooLarge, "it has %d layers, more than the limit of %d", len(image.Layers), maxLayers)
	}
	limited, cancel := context.WithTimeout(ctx, c.searchTime)
	defer cancel()
	search, left := NewSearch(matches), int64(searchBytes)
	for i := range slices.Backward(image.Layers) {
		layer := &image.Layers[i]
		if layer.Size < 0 || layer.Size > left {
			return nil, newError(ref, TooLarge, "layer %s has %d bytes, which with the layers above exceeds the limit of %d",
				layer.Digest, layer.Size, int64(searchBytes))
		}
		err := c.read(limited, ref, trip, layer, keys, &left, search.Layer)
		switch {
		case err != nil && limited.Err() != nil && ctx.Err() == nil:
			return nil, newError(ref, TooLarge, "searching its layers for %s takes longer than %s", description, c.searchTime)
		case err != nil:
			return nil, err
		case search.Path != "":
			return search.Head, nil
		}
	}
	return nil, newError(ref, NoFile, "it has no regular file %s", description)
}
