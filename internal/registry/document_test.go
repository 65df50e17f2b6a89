// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
)

const (
	// wideItems is the number of {} that fits into the read limit.
	wideItems = 900_000
	// mostAllocated bounds the allocations for a document of 2.7 MB, in this process with the registry.
	mostAllocated = 64 << 20
)

func wide(items int) string { return "[" + strings.Repeat("{},", items-1) + "{}]" }

func digestOf(text string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) }

func manifestOf(config, rest string) string {
	return fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"config":{"mediaType":%q,"size":%d,"digest":%q%s`,
		types.OCIManifestSchema1, types.OCIConfigJSON, len(config), digestOf(config), rest)
}

func indexOf(manifests string) string {
	return fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"manifests":%s}`, types.OCIImageIndex, manifests)
}

func member(manifest, mediaType, rest string) string {
	return fmt.Sprintf(`{"mediaType":%q,"size":%d,"digest":%q,"platform":{"os":"linux","architecture":%q}%s}`,
		mediaType, len(manifest), digestOf(manifest), runtime.GOARCH, rest)
}

// serveManifests starts a registry that returns the documents by digest, and the first one for the tag.
func serveManifests(t *testing.T, mediaType types.MediaType, documents ...string) *testRegistry {
	t.Helper()
	return serve(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) bool {
		at := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		for i, document := range documents {
			if at != digestOf(document) && (i > 0 || at != "1") {
				continue
			}
			kind := mediaType
			if i > 0 && !strings.HasPrefix(document, indexOf("")[:80]) {
				kind = types.OCIManifestSchema1
			}
			w.Header().Set("Content-Type", string(kind))
			_, _ = io.WriteString(w, document)
			return true
		}
		return false
	})
}

// Proves: R63 (manifests, configurations, indexes, embedded data and errors are measured before they are decoded).
func TestWideAndDeepDocumentsAreRefused(t *testing.T) {
	wideConfig := `{"history":` + wide(wideItems) + `}`
	smaller := `{"history":` + wide(wideItems/2) + `}` // also in base64
	wideManifest := manifestOf("{}", `},"layers":`+wide(wideItems)+`}`)
	embedding := manifestOf(smaller, `,"data":"`+base64.StdEncoding.EncodeToString([]byte(smaller))+`"},"layers":[]}`)
	embedded := manifestOf("{}", `},"layers":`+wide(wideItems/2)+`}`)
	deep := strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000)
	for name, c := range map[string]struct {
		site *testRegistry
		want registry.Kind
		says string
	}{
		"manifest":            {serveManifests(t, types.OCIManifestSchema1, wideManifest), registry.TooLarge, "more than 10000 values"},
		"configuration":       {serveManifests(t, types.OCIManifestSchema1, manifestOf(wideConfig, `},"layers":[]}`), wideConfig), registry.TooLarge, "more than 10000 values"},
		"one in the manifest": {serveManifests(t, types.OCIManifestSchema1, embedding), registry.TooLarge, "more than 10000 values"},
		"index":               {serveManifests(t, types.OCIImageIndex, indexOf(wide(wideItems))), registry.TooLarge, "more than 10000 values"},
		"manifest in the index, which is not read": {
			serveManifests(t, types.OCIImageIndex, indexOf("["+member(embedded, string(types.OCIManifestSchema1), `,"data":"`+base64.StdEncoding.EncodeToString([]byte(embedded))+`"`)+"]")),
			registry.NotFound, "404",
		},
		"index in the index": {
			serveManifests(t, types.OCIImageIndex, indexOf("["+member(indexOf("[]"), string(types.OCIImageIndex), "")+"]"), indexOf("[]")), registry.NotAnImage, "has media type",
		},
		"deep manifest":    {serveManifests(t, types.OCIManifestSchema1, manifestOf("{}", `},"x":`+deep+`}`)), registry.TooLarge, "more than 32 levels"},
		"deep index":       {serveManifests(t, types.OCIImageIndex, indexOf(deep)), registry.TooLarge, "more than 32 levels"},
		"all of it larger": {serveManifests(t, types.OCIManifestSchema1, manifestOf("{}", `},"x":"`+strings.Repeat("x", 3<<20)+`"}`)), registry.TooLarge, "too large"},
		"report of a failure": {serve(t, httptest.NewServer, func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"errors":`+wide(wideItems)+`}`)
			return true
		}), registry.Unauthorized, "403"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := c.site.client().Image(until(t), c.site.host()+"/team/server:1", nil)
			runtime.ReadMemStats(&after)
			if registry.KindOf(err) != c.want || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 1<<10 {
				t.Errorf("%v is %s, want %s with %q", err, registry.KindOf(err), c.want, c.says)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > mostAllocated {
				t.Errorf("%d MiB were allocated, want at most %d", got>>20, mostAllocated>>20)
			}
		})
	}
}

// Proves: R63, FR-027a (all documents of the image count together, for the largest label and as many layers as a node
// mounts).
func TestLargestImageIsRead(t *testing.T) {
	label := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("#"), 1_000_000))
	file, err := image(t, map[string]string{"io.llamastack.config.base64": label}).ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	for range 127 {
		file.History = append(file.History, v1.History{CreatedBy: "RUN something", Comment: "a comment", Author: "somebody", EmptyLayer: true})
	}
	file.Container, file.Config.Env = "c", []string{"A=b"}
	made, err := mutate.ConfigFile(empty.Image, file)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := made.RawConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	twice := strings.Replace(string(raw), `"config":{`, `"container_config":{"Labels":{"io.llamastack.config.base64":"`+label+`"}},"config":{`, 1)
	layer := fmt.Sprintf(`{"mediaType":%q,"size":1,"digest":%q,"annotations":{"a":"b","c":"d"}}`, types.OCILayer, digestOf("layer"))
	manifest := manifestOf(twice, `},"layers":[`+strings.Repeat(layer+",", 126)+layer+"]}")
	s := serveManifests(t, types.OCIImageIndex, indexOf("["+member(manifest, string(types.OCIManifestSchema1), "")+"]"), manifest, twice)
	for range 3 { // decode slots are released
		found, err := s.client().Image(until(t), s.host()+"/team/server:1", nil)
		if err != nil || len(found.Layers) != 127 || found.Labels["io.llamastack.config.base64"] != label {
			t.Fatalf("%v", err)
		}
	}
	client := s.client()
	failed := make(chan error)
	for range 6 {
		go func() {
			_, err := client.Image(until(t), s.host()+"/team/server:1", nil)
			failed <- err
		}()
	}
	for range 6 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	if n := s.countRequests("/manifests/"); n != 2*9 {
		t.Errorf("%d manifests were read for 9 questions, want two each: %v", n, s.requests)
	}
}
