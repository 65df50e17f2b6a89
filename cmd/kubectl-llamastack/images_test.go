// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/pem"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	ociregistry "github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

var anyBlock = regexp.MustCompile("(?s)\n *```([a-z]+)([^\n]*)\n(.*?)\n *```\n")

// ownRegistry starts a registry with a CA of its own, which the commands of the test trust by SSL_CERT_FILE. It has one image.
func ownRegistry(t *testing.T, repository string) (host string) {
	t.Helper()
	site := httptest.NewTLSServer(ociregistry.New(ociregistry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(site.Close)
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", ca)
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	host = strings.TrimPrefix(site.URL, "https://")
	image, err := random.Image(100, 1)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(host + "/" + repository)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Push(ref, image, remote.WithTransport(site.Client().Transport)); err != nil {
		t.Fatal(err)
	}
	return host
}

// The commands of the pages about images do what they say, with a registry in the place of registry.example.com; the resources and settings on them
// can be used as they are.
//
// Proves: FR-027a, FR-027f, R14, R60.
func TestPagesAboutImages(t *testing.T) {
	host := ownRegistry(t, "ai/server:1.5.0")
	for page, want := range map[string]int{"images.md": 3, "air-gapped.md": 3} {
		text, err := os.ReadFile(filepath.Join(root, "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		r := newReader(t)
		ran := 0
		for _, m := range anyBlock.FindAllStringSubmatch(string(text), -1) {
			kind, info, content := m[1], strings.TrimSpace(m[2]), m[3]
			switch {
			case kind == "sh":
				if code, out := r.run(t, strings.ReplaceAll(content, "registry.example.com", host)); code != 0 || !strings.Contains(out, "\n") {
					t.Errorf("%s: exit code %d:\n%s\n%s", page, code, content, out)
				}
			case info == "settings":
				r.write(t, "settings.yaml", content)
			case strings.HasPrefix(content, "apiVersion: llamastack.io/"):
				r.write(t, "my-stack.yaml", content)
				if page == "images.md" {
					continue // without its image, nobody knows its configuration
				}
				code, out := r.run(t, "kubectl llamastack render -f my-stack.yaml --settings settings.yaml -o yaml")
				if code != 0 || !strings.Contains(out, "image: registry.example.com/mirror/ogxai/distribution-starter:1.5.0") {
					t.Errorf("%s: exit code %d:\n%s", page, code, out)
				}
			default:
				continue
			}
			ran++
		}
		if ran+1 < want {
			t.Errorf("%s: only %d examples were found", page, ran)
		}
	}
}

func (r reader) write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, file), []byte(content+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}
