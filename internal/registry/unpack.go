// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"
)

const (
	// zstdWindow is the largest window of zstd, in bytes: so much of what was unpacked stays in memory. A frame may ask
	// for 512 MiB with its first bytes. Builders use 8 MiB unless they are told to compress harder.
	zstdWindow = 16 << 20
	// maxUnpackingZstd is how many layers may be unpacked from zstd at once. Of a layer in gzip or plain, some 50 KiB and
	// the file are in memory, so the limit of all questions bounds them: one of their own would let the slow registries of
	// few namespaces keep out all others.
	maxUnpackingZstd = 2
	// zstdTime is how long one of them may be read: a registry that sends it slowly keeps nobody else waiting for longer.
	// A layer that was made for a configuration has some kilobytes.
	zstdTime = 10 * time.Second
)

// unpack calls a function with the unpacked text of a layer, whichever of the three forms it has. Only few layers in
// zstd are unpacked at once: the others wait, until the context ends. One that takes too long is ended by cancel, which
// must end the reading of the layer.
func (c *Client) unpack(ctx context.Context, cancel context.CancelFunc, layer io.Reader,
	read func(io.Reader) error) error {
	packed := bufio.NewReader(layer)
	magic, err := packed.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		unpacked, err := gzip.NewReader(packed)
		if err != nil {
			return err
		}
		return errors.Join(read(unpacked), unpacked.Close())
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return c.unpackZstd(ctx, cancel, packed, read)
	}
	return read(packed)
}

func (c *Client) unpackZstd(ctx context.Context, cancel context.CancelFunc, packed io.Reader,
	read func(io.Reader) error) error {
	select {
	case c.unpacking <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.unpacking }()
	defer time.AfterFunc(zstdTime, cancel).Stop()
	unpacked, err := zstd.NewReader(packed, zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true))
	if err != nil {
		return err
	}
	defer unpacked.Close()
	err = read(unpacked)
	if errors.Is(err, zstd.ErrWindowSizeExceeded) {
		return own(errTooLarge, "it is compressed with a window of more than %d bytes: compress it less, or with gzip",
			zstdWindow)
	}
	return err
}
