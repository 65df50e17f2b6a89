// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// Proves: R63 (no panic, and unpacked and kept bytes are bounded).
func FuzzLayer(f *testing.F) {
	var plain, packed bytes.Buffer
	archive := tar.NewWriter(&plain)
	for _, name := range []string{"a/", "a/config.yaml", "a/.wh.b", ".wh..wh..opq"} {
		if err := archive.WriteHeader(&tar.Header{Name: name, Size: int64(len(name)) % 2 * 5, Mode: 0o644}); err != nil {
			f.Fatal(err)
		}
		if len(name)%2 == 1 {
			_, _ = archive.Write([]byte("text\n"))
		}
	}
	zipped := gzip.NewWriter(&packed)
	_, err := zipped.Write(plain.Bytes())
	if err := errors.Join(err, archive.Close(), zipped.Close()); err != nil {
		f.Fatal(err)
	}
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range [][]byte{plain.Bytes(), packed.Bytes(), encoder.EncodeAll(plain.Bytes(), nil), {0x1f, 0x8b}, {0x28, 0xb5, 0x2f, 0xfd, 0xff}, nil} {
		f.Add(seed, "a/config.yaml")
	}
	client := New(Options{})
	f.Fuzz(func(t *testing.T, layer []byte, file string) {
		left := newBudget()
		left.unpacked, left.entries = 4<<20, 100
		var found *layerResult
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		err := client.unpack(ctx, cancel, bytes.NewReader(layer), func(unpacked io.Reader) (err error) {
			found, err = left.fileIn(unpacked, file)
			return err
		})
		if left.unpacked < 0 || left.entries < -1 {
			t.Errorf("%+v is left", left)
		}
		if err == nil && (found == nil || len(found.content) > limits.ConfigBytes) {
			t.Errorf("%+v", found)
		}
		if err != nil && wrap("image", err, &roundTripper{}).Error() == "" {
			t.Error("an error without a text")
		}
	})
}
