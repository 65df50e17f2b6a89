// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/pem"
	"io"
	"log"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/name"
	ociregistry "github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

var anyBlock = regexp.MustCompile("(?s)\n *```([a-z]+)([^\n]*)\n(.*?)\n *```\n")

// ownRegistry starts a TLS registry with one server image under the given tags. The commands of the test trust its CA
// through SSL_CERT_FILE.
func ownRegistry(t *testing.T, repository string, tags ...string) (host string) {
	t.Helper()
	site := httptest.NewTLSServer(ociregistry.New(ociregistry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(site.Close)
	ca := filepath.Join(t.TempDir(), "ca.crt")
	framework.WriteFile(t, ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw}))
	t.Setenv("SSL_CERT_FILE", ca)
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	host = strings.TrimPrefix(site.URL, "https://")
	base := framework.ReadFile(t, filepath.Join(root, testdata, "base.yaml"))
	layer, err := crane.Layer(map[string][]byte{"app/config.yaml": base})
	framework.NoError(t, err)
	image, err := mutate.AppendLayers(empty.Image, layer)
	framework.NoError(t, err)
	for _, tag := range tags {
		ref, err := name.ParseReference(host + "/" + repository + ":" + tag)
		framework.NoError(t, err)
		framework.NoError(t, remote.Push(ref, image, remote.WithTransport(site.Client().Transport)))
	}
	return host
}

// Proves: FR-027a, FR-027f, R14, R60 (the commands run against a test registry, and the resources and settings are
// valid).
func TestPagesAboutImages(t *testing.T) {
	host := ownRegistry(t, "ai/server", "1.5.0", "build")
	for page, want := range map[string]int{"images.md": 5, "air-gapped.md": 3} {
		text := framework.ReadFile(t, filepath.Join(root, "docs", page))
		r := newReader(t)
		ran, setting := 0, ""
		for _, m := range anyBlock.FindAllStringSubmatch(string(text), -1) {
			kind, info, content := m[1], strings.TrimSpace(m[2]), m[3]
			switch {
			case kind == "sh":
				script := strings.ReplaceAll(content, "registry.example.com", host)
				if variable := assignment.FindString(script); variable != "" {
					setting = variable
				}
				if code, out := r.run(t, setting+script); code != 0 || !strings.Contains(out, "\n") {
					t.Errorf("%s: exit code %d:\n%s\n%s", page, code, content, out)
				}
			case info == "settings":
				r.write(t, "settings.yaml", content)
			case strings.HasPrefix(content, "apiVersion: llamastack.io/"):
				r.write(t, "my-stack.yaml", content)
				if page == "images.md" {
					continue // the configuration is unknown without the image
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
		if page != "images.md" {
			continue
		}
		for _, tag := range []string{"latest", "large"} { // the image that crane built is recognized
			code, out := r.run(t, "kubectl llamastack render -f my-stack.yaml --image "+host+"/ai/server:"+tag)
			if code != 0 || !strings.Contains(out, "# Server release line: 1.5\n") {
				t.Errorf("%s: exit code %d:\n%s", tag, code, out)
			}
		}
	}
}

// assignment matches the line that sets IMAGE, which later blocks use too.
var assignment = regexp.MustCompile(`(?m)^IMAGE=.*\n`)

func (r reader) write(t *testing.T, file, content string) {
	t.Helper()
	framework.WriteFile(t, filepath.Join(r.dir, file), content+"\n")
}
