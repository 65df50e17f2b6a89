// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/klauspost/compress/zstd"
)

// Proves: NFR-006, R63 (a slow zstd layer holds its unpack slot for a limited time).
func TestUnpackStopsSlowLayers(t *testing.T) {
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	begin := encoder.EncodeAll([]byte("content"), nil)
	if err := encoder.Close(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		c := &Client{Limits: &Limits{unpacking: make(chan struct{}, 1)}}
		slow, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			layer := io.MultiReader(bytes.NewReader(begin[:6]), untilDone{slow})
			ended <- c.unpack(slow, cancel, layer, func(r io.Reader) error { _, err := io.Copy(io.Discard, r); return err })
		}()
		synctest.Wait()
		var got bytes.Buffer
		quick, end := context.WithTimeout(t.Context(), zstdTime+zstdTime/2)
		defer end()
		if err := c.unpack(quick, end, bytes.NewReader(begin), func(r io.Reader) error { _, err := io.Copy(&got, r); return err }); err != nil || got.String() != "content" {
			t.Errorf("beside a slow one: %q, %v", got.String(), err)
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the slow one ended with %v", err)
		}
	})
}

// untilDone is a body that blocks until its context ends.
type untilDone struct{ ctx context.Context }

func (u untilDone) Read([]byte) (int, error) {
	<-u.ctx.Done()
	return 0, u.ctx.Err()
}
