// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"archive/tar"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
)

const sitePackages = "usr/local/lib/python3.12/site-packages/"

// installed returns the files of the server's Python package.
func installed(called, version string) []entry {
	info := sitePackages + called + "-" + version + ".dist-info/"
	return []entry{
		{info, "", tar.TypeDir},
		{info + "METADATA", "Metadata-Version: 2.4\nName: " + called + "\nVersion: " + version + "\n\n" + strings.Repeat("text\n", 10_000), tar.TypeReg},
		{info + "RECORD", "x", tar.TypeReg},
	}
}

// Proves: R92, R63 (layers may have any form, and the package any directory).
func TestFindMatchMergesLayers(t *testing.T) {
	lower := layerOf(t, installed("llama_stack", "0.7.1")...)
	other := layerOf(t, append(installed("llama_stack_client", "0.7.1"), installed("torch", "2.9.0")...)...)
	for name, c := range map[string]struct {
		above []v1.Layer
		want  string
		kind  registry.Kind
	}{
		"below another layer":            {[]v1.Layer{other}, "Version: 0.7.1\n", ""},
		"upgraded":                       {[]v1.Layer{layerOf(t, installed("ogx", "1.4.0")...), other}, "Version: 1.4.0\n", ""},
		"uninstalled":                    {[]v1.Layer{layerOf(t, entry{sitePackages + ".wh.llama_stack-0.7.1.dist-info", "", tar.TypeReg})}, "", registry.NoFile},
		"its file deleted":               {[]v1.Layer{layerOf(t, entry{sitePackages + "llama_stack-0.7.1.dist-info/.wh.METADATA", "", tar.TypeReg})}, "", registry.NoFile},
		"all of Python replaced":         {[]v1.Layer{layerOf(t, append(installed("ogx", "1.4.1"), entry{sitePackages + ".wh..wh..opq", "", tar.TypeReg})...)}, "Version: 1.4.1\n", ""},
		"another package is uninstalled": {[]v1.Layer{layerOf(t, entry{sitePackages + ".wh.uv-0.9.0.dist-info", "", tar.TypeReg})}, "Version: 0.7.1\n", ""},
		"it is a link":                   {[]v1.Layer{layerOf(t, entry{sitePackages + "ogx-1.4.0.dist-info/METADATA", "x", tar.TypeSymlink})}, "Version: 0.7.1\n", ""},
		"zstd":                           {[]v1.Layer{packed(t, types.OCILayerZStd, archive(t, installed("ogx", "1.3.1")...))}, "Version: 1.3.1\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, httptest.NewServer)
			reference := s.push(t, image(t, nil, append([]v1.Layer{lower}, c.above...)...))
			found, err := s.client().Image(until(t), reference, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.client().FindMatch(until(t), reference, found, oci.ServerPackage, oci.IsServerPackage, nil)
			if registry.KindOf(err) != c.kind || !strings.Contains(string(got), c.want) || len(got) > 4096 {
				t.Errorf("%.60q, %v; want %q, %s", got, err, c.want, c.kind)
			}
		})
	}
}

// Proves: R63, R92 (layers, their bytes, files, deleted files and time are bounded).
func TestFindMatchHasBounds(t *testing.T) {
	s := serve(t, httptest.NewServer)
	reference := s.push(t, image(t, nil))
	for name, c := range map[string]struct {
		layers int
		size   int64
	}{"layers": {128, 1}, "bytes": {1, 2<<30 + 1}, "all bytes": {2, 1 << 62}, "no size": {1, -1}} {
		found := &registry.Image{}
		for range c.layers {
			found.Layers = append(found.Layers, registry.Blob{Digest: "sha256:" + strings.Repeat("0a", 32), Size: c.size})
		}
		_, err := s.client().FindMatch(until(t), reference, found, "x", oci.IsServerPackage, nil)
		if registry.KindOf(err) != registry.TooLarge || len(s.requests) != 0 {
			t.Errorf("%s: %v after %v", name, err, s.requests)
		}
	}
	deleted := make([]entry, 3000)
	for n := range deleted {
		deleted[n] = entry{fmt.Sprintf("%s/.wh.%d", strings.Repeat("d", 90), n), "", tar.TypeReg}
	}
	reference = s.push(t, image(t, nil, layerOf(t, deleted...)))
	found, err := s.client().Image(until(t), reference, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.client().FindMatch(until(t), reference, found, "x", oci.IsServerPackage, nil); registry.KindOf(err) != registry.TooLarge {
		t.Errorf("deleted files: %v", err)
	}
}

// Proves: R63, R92 (the result is cached, because the same image would take as long again).
func TestFindMatchStopsAtSlowLayer(t *testing.T) {
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	slow := false
	s := serve(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) bool {
		if !slow || !strings.Contains(r.URL.Path, "/blobs/") {
			return false
		}
		_, _ = w.Write([]byte{0x1f, 0x8b})
		w.(http.Flusher).Flush()
		select {
		case <-ended:
		case <-r.Context().Done():
		}
		return true
	})
	reference := s.push(t, image(t, nil, layerOf(t, installed("ogx", "1.4.0")...)))
	client := s.client()
	found, err := client.Image(until(t), reference, nil)
	if err != nil {
		t.Fatal(err)
	}
	slow = true
	client.SetSearchTime(50 * time.Millisecond)
	_, err = client.FindMatch(until(t), reference, found, "the package", oci.IsServerPackage, nil)
	if registry.KindOf(err) != registry.TooLarge || !strings.Contains(err.Error(), "searching its layers for the package takes longer than 50ms") {
		t.Errorf("%v", err)
	}
}

// Proves: R63.
func TestFindMatchVerifiesTheDigest(t *testing.T) {
	genuine, forged := layerOf(t, installed("ogx", "1.4.0")...), archive(t, installed("ogx", "1.4.1")...)
	digest, err := genuine.Digest()
	if err != nil {
		t.Fatal(err)
	}
	replaced := false
	s := serve(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) bool {
		if !replaced || !strings.HasSuffix(r.URL.Path, digest.String()) {
			return false
		}
		_, _ = w.Write(forged)
		return true
	})
	reference := s.push(t, image(t, nil, genuine))
	found, err := s.client().Image(until(t), reference, nil)
	if err != nil {
		t.Fatal(err)
	}
	replaced = true
	if got, err := s.client().FindMatch(until(t), reference, found, "x", oci.IsServerPackage, nil); registry.KindOf(err) != registry.Corrupt || got != nil {
		t.Errorf("%.60q, %v", got, err)
	}
}

// A file that is not a layer, or that unpacks to more than the limit, is an error.
func TestSearchReadsLayersOneByOne(t *testing.T) {
	search := registry.NewSearch(oci.IsServerPackage)
	if err := search.Layer(strings.NewReader(strings.Repeat("no archive", 1000))); err == nil {
		t.Error("text was taken for an archive")
	}
	search = registry.NewSearch(oci.IsServerPackage)
	many := make([]entry, 500)
	for n := range many {
		many[n] = entry{"a", "", tar.TypeReg}
	}
	layer := archive(t, many...)
	var err error
	for range 1001 {
		if err = search.Layer(strings.NewReader(string(layer))); err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "more than 500000 files") {
		t.Errorf("%v", err)
	}
}
