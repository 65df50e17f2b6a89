// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/zstd"

	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
)

func retryAfter(err error) time.Duration {
	if known, ok := errors.AsType[*registry.Error](err); ok {
		return known.RetryAfter
	}
	return 0
}

type entry struct {
	name, content string
	kind          byte
}

func archive(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: 0o644, Typeflag: e.kind}
		if e.kind == tar.TypeReg {
			header.Size = int64(len(e.content))
		} else {
			header.Linkname = e.content
		}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if e.kind == tar.TypeReg {
			if _, err := io.WriteString(w, e.content); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func packed(t *testing.T, how types.MediaType, content []byte) v1.Layer {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch how { //nolint:exhaustive // each form that is read; the others are not compressed
	case types.OCILayer:
		w = gzip.NewWriter(&out)
	case types.OCILayerZStd:
		encoder, err := zstd.NewWriter(&out)
		if err != nil {
			t.Fatal(err)
		}
		w = encoder
	default:
		return static.NewLayer(content, how)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return static.NewLayer(out.Bytes(), how)
}

// Proves: FR-027a, FR-027b (all compressions and forms of the path).
func TestFileReadsALayer(t *testing.T) {
	const config = "version: 2\n"
	for name, layer := range map[string]v1.Layer{
		"gzip":       packed(t, types.OCILayer, archive(t, entry{"app/config.yaml", config, tar.TypeReg})),
		"zstd":       packed(t, types.OCILayerZStd, archive(t, entry{"./app/config.yaml", config, tar.TypeReg})),
		"plain":      packed(t, types.OCIUncompressedLayer, archive(t, entry{"/app/config.yaml", config, tar.TypeReg})),
		"the last":   packed(t, types.OCILayer, archive(t, entry{"app/config.yaml", "old", tar.TypeReg}, entry{"app/config.yaml", config, tar.TypeReg})),
		"among many": packed(t, types.OCILayer, archive(t, entry{"a", "1", tar.TypeReg}, entry{"app/config.yaml", config, tar.TypeReg}, entry{"b", "2", tar.TypeReg})),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := fileOf(t, layer, "/app/config.yaml")
			if err != nil || string(got) != config {
				t.Errorf("%q, %v; want %q", got, err, config)
			}
		})
	}
}

func TestFileReportsUnreadableFiles(t *testing.T) {
	for name, c := range map[string]struct {
		layer v1.Layer
		want  registry.Kind
		says  string
	}{
		"no such file":      {packed(t, types.OCILayer, archive(t, entry{"other", "1", tar.TypeReg})), registry.NoFile, "has no regular file"},
		"a link":            {packed(t, types.OCILayer, archive(t, entry{"app/config.yaml", "/etc/shadow", tar.TypeSymlink})), registry.NoFile, "has no regular file"},
		"a large file":      {packed(t, types.OCILayer, archive(t, entry{"app/config.yaml", strings.Repeat("#", 1_000_001), tar.TypeReg})), registry.TooLarge, "1000001 bytes"},
		"no archive":        {packed(t, types.OCILayer, bytes.Repeat([]byte("text "), 1000)), registry.NotAnImage, "not a tar archive"},
		"a bomb":            {packed(t, types.OCILayer, archive(t, entry{"zeros", strings.Repeat("\x00", 300<<20), tar.TypeReg})), registry.TooLarge, "too large"},
		"cut in the middle": {static.NewLayer(packedBytes(t)[:100], types.OCILayer), registry.Corrupt, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fileOf(t, c.layer, "app/config.yaml")
			if registry.KindOf(err) != c.want || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v is %s, want %s with %q", err, registry.KindOf(err), c.want, c.says)
			}
		})
	}
}

// A zstd layer of a few bytes can request a window of 512 MiB and fill it.
func TestFileBoundsTheMemoryOfZstd(t *testing.T) {
	for name, c := range map[string]struct {
		window int
		want   registry.Kind
	}{
		"as a builder does":     {8 << 20, ""},
		"largest":               {16 << 20, ""},
		"larger":                {32 << 20, registry.TooLarge},
		"as large as it can be": {zstd.MaxWindowSize, registry.TooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			w, err := zstd.NewWriter(&out, zstd.WithWindowSize(c.window))
			if err != nil {
				t.Fatal(err)
			}
			content := archive(t, entry{"zeros", strings.Repeat("\x00", 40<<20), tar.TypeReg}, entry{"app/config.yaml", "a", tar.TypeReg})
			if _, err := w.Write(content); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			got, err := fileOf(t, static.NewLayer(out.Bytes(), types.OCILayerZStd), "app/config.yaml")
			if registry.KindOf(err) != c.want || c.want == "" && string(got) != "a" {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
			if err != nil && !strings.Contains(err.Error(), "window of more than 16777216 bytes") {
				t.Error(err)
			}
		})
	}
}

func packedBytes(t *testing.T) []byte {
	t.Helper()
	content, err := packed(t, types.OCILayer, archive(t, entry{"app/config.yaml", "version: 2\n", tar.TypeReg})).Compressed()
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A layer of 2 GiB is refused by its size in the manifest, before any read.
func TestFileRefusesLargeLayersUnread(t *testing.T) {
	s := serve(t, httptest.NewServer)
	reference := s.push(t, image(t, nil))
	large := "sha256:" + strings.Repeat("0a", 32)
	found := &registry.Image{Layers: []registry.Blob{{Digest: large, Size: 2 << 30}}}
	_, err := s.client().File(until(t), reference, found, large, "a", nil)
	if registry.KindOf(err) != registry.TooLarge || len(s.requests) != 0 {
		t.Errorf("%v after %v", err, s.requests)
	}
	_, err = s.client().File(until(t), reference, found, "sha256:"+strings.Repeat("0b", 32), "a", nil)
	if registry.KindOf(err) != registry.NotFound {
		t.Errorf("a layer of another image: %v", err)
	}
}

func fileOf(t *testing.T, layer v1.Layer, file string) ([]byte, error) {
	t.Helper()
	s := serve(t, httptest.NewServer)
	reference := s.push(t, image(t, nil, layer))
	found, err := s.client().Image(until(t), reference, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.forget()
	content, err := s.client().File(until(t), reference, found, found.Layers[0].Digest, file, nil)
	if n := s.countRequests("GET /v2/team/server/blobs/"); n != 1 {
		t.Errorf("%d layers were read, want 1: %v", n, s.requests)
	}
	return content, err
}
