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
	// zstdWindow is the largest zstd window, in bytes; frames may ask for 512 MiB, and builders use 8 MiB by default.
	zstdWindow = 16 << 20
	// maxUnpackingZstd is the number of concurrent zstd layers; other layers need only about 50 KiB of memory.
	maxUnpackingZstd = 2
	// zstdTime bounds unpacking one zstd layer, so that a slow registry does not block others.
	zstdTime = 10 * time.Second
)

// unpack calls read with the layer unpacked from gzip, zstd or plain tar. A zstd layer waits for a slot, and cancel
// must stop reading it after zstdTime.
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
		return newSafeError(errTooLarge,
			"it is compressed with a window of more than %d bytes: compress it less, or with gzip", zstdWindow)
	}
	return err
}
