// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"archive/tar"
	"net/http/httptest"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
)

func layerOf(t *testing.T, entries ...entry) v1.Layer {
	t.Helper()
	return packed(t, types.OCILayer, archive(t, entries...))
}

// Proves: R46, R63 (FindFile returns the file that a container sees).
func TestFindFileMergesLayers(t *testing.T) {
	const file = "lls-provider/lls-provider-spec.yaml"
	lower := layerOf(t, entry{"lls-provider/", "", tar.TypeDir}, entry{"./" + file, "lower", tar.TypeReg})
	other := layerOf(t, entry{"lls-provider/", "", tar.TypeDir}, entry{"lls-provider/packages/a.whl", "a wheel", tar.TypeReg})
	for name, c := range map[string]struct {
		above  []v1.Layer
		want   string
		kind   registry.Kind
		layers int
	}{
		"the only layer":           {nil, "lower", "", 1},
		"below another layer":      {[]v1.Layer{other}, "lower", "", 2},
		"replaced":                 {[]v1.Layer{layerOf(t, entry{"/" + file, "upper", tar.TypeReg}), other}, "upper", "", 2},
		"deleted":                  {[]v1.Layer{layerOf(t, entry{"lls-provider/.wh.lls-provider-spec.yaml", "", tar.TypeReg})}, "", registry.NoFile, 1},
		"its directory is deleted": {[]v1.Layer{layerOf(t, entry{".wh.lls-provider", "", tar.TypeReg})}, "", registry.NoFile, 1},
		"all of its directory":     {[]v1.Layer{layerOf(t, entry{"lls-provider/.wh..wh..opq", "", tar.TypeReg})}, "", registry.NoFile, 1},
		"its directory is a link":  {[]v1.Layer{layerOf(t, entry{"lls-provider", "etc", tar.TypeSymlink})}, "", registry.NoFile, 1},
		"it is a link":             {[]v1.Layer{layerOf(t, entry{file, "etc/passwd", tar.TypeSymlink})}, "", registry.NoFile, 1},
		"a neighbor is deleted":    {[]v1.Layer{layerOf(t, entry{"lls-provider/.wh.packages", "", tar.TypeReg})}, "lower", "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, httptest.NewServer)
			reference := s.push(t, image(t, nil, append([]v1.Layer{lower}, c.above...)...))
			found, err := s.client().Image(until(t), reference, nil)
			if err != nil {
				t.Fatal(err)
			}
			s.forget()
			got, err := s.client().FindFile(until(t), reference, found, "/"+file, nil)
			if string(got) != c.want || registry.KindOf(err) != c.kind {
				t.Errorf("%q, %v; want %q, %s", got, err, c.want, c.kind)
			}
			if n := s.countRequests("GET /v2/team/server/blobs/"); n != c.layers {
				t.Errorf("%d layers were read, want %d: %v", n, c.layers, s.requests)
			}
		})
	}
}

// A large image without the file is not read to its end, and a large layer is not read.
func TestFindFileBoundsAllLayers(t *testing.T) {
	s := serve(t, httptest.NewServer)
	reference := s.push(t, image(t, nil))
	for name, sizes := range map[string][]int64{"one large layer": {65 << 20}, "too large by its sizes": {1 << 62, 1 << 62}} {
		found := &registry.Image{}
		for _, size := range sizes {
			found.Layers = append(found.Layers, registry.Blob{Digest: "sha256:" + strings.Repeat("0a", 32), Size: size})
		}
		_, err := s.client().FindFile(until(t), reference, found, "a", nil)
		if registry.KindOf(err) != registry.TooLarge || len(s.requests) != 0 || !strings.Contains(err.Error(), "put the file into") {
			t.Errorf("%s: %v after %v", name, err, s.requests)
		}
	}
}

// Proves: R63 (all layers share one bound, because a manifest can repeat a small layer that unpacks to a large one).
func TestFindFileLimitsUnpackedSize(t *testing.T) {
	many := make([]entry, 30_000)
	for n := range many {
		many[n] = entry{"a", "", tar.TypeReg}
	}
	for name, c := range map[string]struct {
		layer v1.Layer
		says  string
	}{
		"bytes": {layerOf(t, entry{"zeros", strings.Repeat("\x00", 150<<20), tar.TypeReg}), "too large"},
		"files": {layerOf(t, many...), "more than 50000 files"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, httptest.NewServer)
			reference := s.push(t, image(t, nil, c.layer, c.layer))
			found, err := s.client().Image(until(t), reference, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = s.client().FindFile(until(t), reference, found, "wanted", nil); registry.KindOf(err) != registry.TooLarge || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

// Proves: R63 (layer counts and sizes of a manifest are bounded).
func TestFindFileRefusesImpossibleLayers(t *testing.T) {
	s := serve(t, httptest.NewServer)
	reference := s.push(t, image(t, nil))
	for _, c := range []struct {
		layers int
		size   int64
		want   registry.Kind
	}{{128, 1, registry.TooLarge}, {1, -1, registry.NotAnImage}} {
		found := &registry.Image{}
		for range c.layers {
			found.Layers = append(found.Layers, registry.Blob{Digest: "sha256:" + strings.Repeat("0a", 32), Size: c.size})
		}
		_, err := s.client().FindFile(until(t), reference, found, "a", nil)
		if registry.KindOf(err) != c.want || len(s.requests) != 0 {
			t.Errorf("%d layers of %d bytes: %v after %v, want %s", c.layers, c.size, err, s.requests, c.want)
		}
	}
}
