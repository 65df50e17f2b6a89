// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"archive/tar"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
)

// Proves: FR-027f (the first location with the image is used, also for its layers, and the others are not queried).
func TestImagesAreReadAtTheirMirrors(t *testing.T) {
	const named = "registry.invalid/team/server:1"
	site := serve(t, httptest.NewServer)
	layer := layerOf(t, append(installed("ogx", "1.4.0"), entry{"app/config.yaml", "version: 2", tar.TypeReg})...)
	there := site.push(t, image(t, map[string]string{"a": "b"}, layer))
	missing := strings.Replace(there, "server:1", "other:1", 1)
	client := site.client(func(o *registry.Options) {
		o.Locations = func(reference string) []string {
			if reference != named {
				t.Errorf("asked for the locations of %s", reference)
			}
			return []string{missing, there, named}
		}
	})
	found, err := client.Image(until(t), named, nil)
	if err != nil || found.Labels["a"] != "b" {
		t.Fatalf("%+v, %v", found, err)
	}
	digest, err := layer.Digest()
	if err != nil {
		t.Fatal(err)
	}
	file, err := client.File(until(t), named, found, digest.String(), "/app/config.yaml", nil)
	if err != nil || string(file) != "version: 2" {
		t.Errorf("%q, %v", file, err)
	}
	if file, err = client.FindFile(until(t), named, found, "/app/config.yaml", nil); err != nil || string(file) != "version: 2" {
		t.Errorf("%q, %v", file, err)
	}
	head, err := client.FindMatch(until(t), named, found, oci.ServerPackage, oci.IsServerPackage, nil)
	if err != nil || !strings.Contains(string(head), "Version: 1.4.0") {
		t.Errorf("%q, %v", head, err)
	}
	if got, err := client.Digest(until(t), named, nil); err != nil || got != found.Digest {
		t.Errorf("%s, %v; want %s", got, err, found.Digest)
	}
	if _, err := client.FindFile(until(t), named, found, "/none", nil); registry.KindOf(err) != registry.NoFile {
		t.Errorf("a file that is not there: %v", err)
	}
}

// Proves: FR-027f (the error names each location, and clears once one has the image).
func TestImagesThatNoMirrorHas(t *testing.T) {
	status := http.StatusServiceUnavailable
	site := serve(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/broken/") {
			return false
		}
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(status)
		return true
	})
	broken, named := site.host()+"/broken/server:1", site.host()+"/team/server:1"
	client := site.client(func(o *registry.Options) { o.Locations = func(string) []string { return []string{broken, named} } })
	_, err := client.Image(until(t), named, nil)
	if registry.KindOf(err) != registry.Unreachable || retryAfter(err).Seconds() != 120 || !strings.Contains(err.Error(), broken) ||
		!strings.Contains(err.Error(), "image "+named+": the registry responds with 404 Not Found") {
		t.Errorf("%v", err)
	}
	status = http.StatusForbidden
	if _, err = client.Image(until(t), named, nil); registry.KindOf(err) != registry.NotFound || !strings.Contains(err.Error(), "403 Forbidden") {
		t.Errorf("%v", err)
	}
}
