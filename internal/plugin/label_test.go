// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	ociregistry "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/imagelabels"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// imageSite starts a registry without TLS, pushes the image, and returns its reference by tag.
func imageSite(t *testing.T, what remote.Taggable) string {
	t.Helper()
	t.Setenv("DOCKER_CONFIG", t.TempDir()) // without the user's credentials
	site := httptest.NewServer(ociregistry.New(ociregistry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(site.Close)
	reference := strings.TrimPrefix(site.URL, "http://") + "/team/server:1"
	ref, err := name.ParseReference(reference, name.Insecure)
	framework.NoError(t, err)
	framework.NoError(t, remote.Push(ref, what))
	return reference
}

// readBack reads the labels with the operator's code.
func readBack(t *testing.T, reference, architecture string) (string, *oci.Labels) {
	t.Helper()
	host, _, _ := strings.Cut(reference, "/")
	client := registry.New(registry.Options{PlainHTTP: []string{host}, Platform: v1.Platform{OS: "linux", Architecture: architecture}})
	digest, labels, err := imagelabels.Read(t.Context(), client, reference, nil)
	framework.NoError(t, err)
	return digest, labels
}

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	framework.WriteFile(t, path, content)
	return path
}

// randomImage returns an image with a layer and a label that label must keep.
func randomImage(t *testing.T) v1.Image {
	t.Helper()
	image, err := random.Image(100, 2)
	if err == nil {
		image, err = mutate.Config(image, v1.Config{Labels: map[string]string{"maintainer": "me", oci.LabelConfigPath: "/old"}, Entrypoint: []string{"/run"}})
	}
	framework.NoError(t, err)
	return image
}

const smallBase = "version: 2\napis: [inference]\nproviders: {inference: []}\n"

// Proves: FR-027a, FR-027b (the operator reads the written label or layer; the rest of the image is unchanged).
func TestLabelWritesConfigurationToImage(t *testing.T) {
	for name, content := range map[string]string{"label": smallBase, "layer": smallBase + "# " + strings.Repeat("x", 60_000) + "\n"} {
		t.Run(name, func(t *testing.T) {
			reference := imageSite(t, randomImage(t))
			digest := strings.TrimSpace(mustRun(t, "", "label", reference, "--config", file(t, content), "--server-version", "0.7.1", "--push", "--plain-http"))
			got, labels := readBack(t, reference, "amd64")
			if got != digest || string(labels.Config) != content || labels.Version != "0.7.1" || (labels.Layer != nil) != (name == "layer") {
				t.Errorf("%s: %+v; want digest %s", got, labels, digest)
			}
			ref, _ := name2ref(reference)
			image, err := remote.Image(ref)
			framework.NoError(t, err)
			config, err := image.ConfigFile()
			if err != nil || config.Config.Labels["maintainer"] != "me" || config.Config.Entrypoint[0] != "/run" || len(config.RootFS.DiffIDs) < 2 {
				t.Errorf("%+v, %v", config, err)
			}
			again := strings.TrimSpace(mustRun(t, "", "label", reference, "--config", file(t, smallBase), "--push", "--plain-http"))
			if got, labels := readBack(t, reference, "amd64"); got != again || string(labels.Config) != smallBase || labels.Layer != nil {
				t.Errorf("labeled again: %s, %+v", got, labels)
			}
		})
	}
}

// Proves: R88 (what the server refuses or ignores in the base is a warning before anyone uses the image).
func TestLabelWarnsOfWhatTheServerIgnores(t *testing.T) {
	reference := imageSite(t, randomImage(t))
	base := file(t, "version: 2\ndistro_name: a\nproviders: {}\nstorage: {backends: {kv_default: {type: kv_sqlite, db_path: /a}, sql_default: {type: sql_sqlite, db_path: /b}}, stores: {}}\nmodels: []\n")
	r := run(t, "", "label", reference, "--config", base, "--server-version", "1.5.0", "--push", "--plain-http")
	if want := "warning: " + base + ":5:9: models: the server ignores this: release line 1.5 has no such field: remove it\n"; r.code != cli.ExitOK || r.err != want {
		t.Errorf("exit code %d, %q, want %q", r.code, r.err, want)
	}
}

func name2ref(reference string) (name.Reference, error) {
	return name.ParseReference(reference, name.Insecure)
}

// Proves: FR-027a.
func TestLabelReachesEachPlatform(t *testing.T) {
	index := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: randomImage(t), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "arm64"}}},
		mutate.IndexAddendum{Add: randomImage(t), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}}},
		mutate.IndexAddendum{Add: randomImage(t), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "unknown", Architecture: "unknown"}}},
	)
	reference := imageSite(t, index)
	mustRun(t, "", "label", reference, "--config", file(t, smallBase), "--server-version", "1.4.0", "--push", "--plain-http")
	for _, architecture := range []string{"arm64", "amd64"} {
		if _, labels := readBack(t, reference, architecture); string(labels.Config) != smallBase {
			t.Errorf("%s: %+v", architecture, labels)
		}
	}
	ref, _ := name2ref(reference)
	labeled, err := remote.Index(ref)
	framework.NoError(t, err)
	if manifest, err := labeled.IndexManifest(); err != nil || len(manifest.Manifests) != 3 {
		t.Errorf("%+v, %v", manifest, err)
	}
}

// Proves: FR-027f.
func TestLabelWritesArchives(t *testing.T) {
	reference := imageSite(t, randomImage(t))
	first, second := filepath.Join(t.TempDir(), "first.tar"), filepath.Join(t.TempDir(), "second.tar")
	a := mustRun(t, "", "label", reference, "--config", file(t, smallBase), "--server-version", "1.4.0", "-o", first, "--plain-http")
	b := mustRun(t, "", "label", "oci-archive:"+first, "--config", file(t, smallBase), "--server-version", "1.4.0", "-o", second)
	c := mustRun(t, "", "label", reference, "--config", file(t, smallBase), "--server-version", "1.4.0", "--push", "--plain-http")
	if a != b || a != c {
		t.Errorf("digests %s, %s, %s; want the same", a, b, c)
	}
	if info, err := os.Stat(second); err != nil || info.Size() < 1000 {
		t.Errorf("%+v, %v", info, err)
	}
}

// packageLayer returns a layer with the server's Python package.
func packageLayer(t *testing.T, called, version string) v1.Layer {
	t.Helper()
	metadata := "Metadata-Version: 2.4\nName: " + called + "\nVersion: " + version + "\n\nA server.\n"
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	header := &tar.Header{
		Name: "usr/local/lib/python3.12/site-packages/" + called + "-" + version + ".dist-info/METADATA", Mode: 0o644, Size: int64(len(metadata)), Typeflag: tar.TypeReg,
	}
	if err := errors.Join(w.WriteHeader(header), func() error { _, err := io.WriteString(w, metadata); return err }(), w.Close()); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(out.Bytes())), nil })
	framework.NoError(t, err)
	return layer
}

func imageWith(t *testing.T, labels map[string]string, layers ...v1.Layer) v1.Image {
	t.Helper()
	image, err := mutate.AppendLayers(empty.Image, layers...)
	if err == nil {
		image, err = mutate.Config(image, v1.Config{Labels: labels})
	}
	framework.NoError(t, err)
	return image
}

// Proves: R92 (the label holds the release, because a reference by digest has no tag).
func TestLabelWritesTheRelease(t *testing.T) {
	server, other := packageLayer(t, "ogx", "1.4.1"), packageLayer(t, "ogx_client", "9.9.9")
	for name, c := range map[string]struct {
		image       remote.Taggable
		tag         string
		flags       []string
		label, note string
	}{
		"package":       {image: imageWith(t, nil, server, other), tag: "latest", label: "1.4.1"},
		"tag":           {image: imageWith(t, nil, server), tag: "v1.3.0-cuda", label: "v1.3.0-cuda"},
		"flag":          {image: imageWith(t, nil, server), tag: "1.3.0", flags: []string{"--server-version", "1.4.0"}, label: "1.4.0"},
		"label":         {image: imageWith(t, map[string]string{oci.LabelDistributionVersion: "1.2.0"}, server), tag: "1.3.0", label: "1.2.0"},
		"general label": {image: imageWith(t, map[string]string{oci.LabelImageVersion: "1.2.0"}, server), tag: "1.3.0"},
		"of Debian":     {image: imageWith(t, map[string]string{oci.LabelImageVersion: "24.04"}, server), tag: "nightly", label: "1.4.1"},
		"nothing":       {image: imageWith(t, nil, other), tag: "latest", note: "note: no label, tag or Python package of the image names the release of its server; set"},
		"a build":       {image: imageWith(t, nil, packageLayer(t, "ogx", "0.0.0")), tag: "latest", note: `note: version "0.0.0" of package ogx is not that of a release; set`},
		"several platforms": {image: mutate.AppendManifests(empty.Index,
			mutate.IndexAddendum{Add: randomImage(t), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "unknown", Architecture: "unknown"}}},
			mutate.IndexAddendum{Add: imageWith(t, nil, server), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}}},
		), tag: "latest", label: "1.4.1"},
	} {
		t.Run(name, func(t *testing.T) {
			host, _, _ := strings.Cut(imageSite(t, c.image), "/")
			reference := host + "/team/server:" + c.tag
			ref, err := name2ref(reference)
			framework.NoError(t, err)
			framework.NoError(t, remote.Push(ref, c.image))
			r := run(t, "", append([]string{"label", reference, "--config", file(t, smallBase), "--push", "--plain-http"}, c.flags...)...)
			if r.code != cli.ExitOK || !strings.HasPrefix(r.err, c.note) || c.note == "" && r.err != "" {
				t.Fatalf("exit code %d: %s; want %q", r.code, r.err, c.note)
			}
			client := registry.New(registry.Options{PlainHTTP: []string{host}, Platform: v1.Platform{OS: "linux", Architecture: "amd64"}})
			found, err := client.Image(t.Context(), reference, nil)
			if err != nil || found.Labels[oci.LabelDistributionVersion] != c.label {
				t.Errorf("labels %v, %v; want %q", found.Labels, err, c.label)
			}
		})
	}
}

func TestLabelRejectsWhatTheOperatorRejects(t *testing.T) {
	reference := imageSite(t, randomImage(t))
	good := file(t, smallBase)
	for code, refused := range map[int]map[string][]string{
		cli.ExitFailure: {
			"--config:":                 {reference, "--config", file(t, "- a"), "--push"},
			"not an archive in the OCI": {"oci-archive:" + tarOf(t), "--config", good, "-o", filepath.Join(t.TempDir(), "x.tar")},
			"no such file or directory": {"oci-archive:none.tar", "--config", good, "-o", filepath.Join(t.TempDir(), "x.tar")},
			"MANIFEST_UNKNOWN":          {strings.Replace(reference, ":1", ":2", 1)[:len(reference)-1] + "2", "--config", good, "--push", "--plain-http"},
		},
		cli.ExitUsage: {
			"--server-version: \"latest\"":          {reference, "--config", good, "--server-version", "latest", "--push"},
			"labels change the digest of the image": {reference + "@sha256:" + strings.Repeat("0a", 32), "--config", good, "--push"},
			"--push requires an image":              {"oci-archive:x.tar", "--config", good, "--push"},
			"IMAGE: could not parse":                {"A B", "--config", good, "--push"},
			"set --push, or --output with":          {reference, "--config", good},
		},
	} {
		for want, args := range refused {
			r := run(t, "", append([]string{"label"}, args...)...)
			if r.code != code || !strings.Contains(r.err, want) {
				t.Errorf("%v: exit code %d, %s; want %d and %s", args, r.code, r.err, code, want)
			}
		}
	}
}

// If the labels of an image by digest have no release, render uses the release of the Python package.
//
// Proves: R92.
func TestRenderReadsThePackageFromTheRegistry(t *testing.T) {
	base, _ := distributions.Base("starter", "1.4")
	labels := map[string]string{oci.LabelConfigBase64: base64.StdEncoding.EncodeToString(base)}
	for want, layer := range map[string]v1.Layer{"release line 1.4": packageLayer(t, "ogx", "1.4.1"), "": packageLayer(t, "ogx_client", "1.4.1")} {
		image := imageWith(t, labels, layer)
		digest, err := image.Digest()
		framework.NoError(t, err)
		reference := strings.TrimSuffix(imageSite(t, image), ":1") + "@" + digest.String()
		document := "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: s}\nspec:\n  distribution: {image: '" + reference +
			"'}\n  providers: {inference: {provider: vllm, endpoint: 'http://vllm:8000'}}\n"
		r := run(t, document, "render", "-f", "-", "--image", reference, "--plain-http")
		if known := r.code == cli.ExitOK && strings.Contains(r.out, "# Server release line: 1.4\n"); known != (want != "") {
			t.Errorf("%s: %s%s", want, r.out, r.err)
		}
	}
}

func tarOf(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "empty.tar")
	framework.WriteFile(t, path, make([]byte, 1024))
	return path
}

// Proves: R14, FR-020 (labels from a registry and from a file have the same effect).
func TestRenderReadsLabelsFromTheRegistry(t *testing.T) {
	base, _ := distributions.Base("starter", "0.7")
	image, err := mutate.Config(empty.Image, v1.Config{Labels: map[string]string{
		oci.LabelConfigBase64: base64.StdEncoding.EncodeToString(base), oci.LabelImageVersion: "0.7.1",
	}})
	framework.NoError(t, err)
	reference := imageSite(t, image)
	const spec = "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: s}\nspec:\n  distribution: {image: %s}\n" +
		"  providers: {inference: {provider: vllm, endpoint: 'http://vllm:8000'}}\n"
	document := fmt.Sprintf(spec, reference)
	if got := mustRun(t, document, "render", "-f", "-", "--image", reference, "--plain-http"); !strings.Contains(got, "base_url: http://vllm:8000/v1") {
		t.Errorf("%s", got)
	}
	for want, args := range map[string][]string{
		"--image: image " + reference: {"--image", reference},
		"404 Not Found":               {"--image", strings.TrimSuffix(reference, ":1") + ":2", "--plain-http"},
		"are mutually exclusive":      {"--image", reference, "--image-labels", "x"},
	} {
		if r := run(t, document, append([]string{"render", "-f", "-"}, args...)...); r.code == cli.ExitOK || !strings.Contains(r.err, want) {
			t.Errorf("%v: %s; want %s", args, r.err, want)
		}
	}
}

// Registries redirect reads. Writes must go to the registry itself.
//
// Proves: NFR-003.
func TestLabelFollowsNoRedirectOfUploads(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the address of a redirect was asked: %s %s", r.Method, r.URL)
	}))
	t.Cleanup(elsewhere.Close)
	reference := imageSite(t, randomImage(t))
	host, _, _ := strings.Cut(reference, "/")
	inner := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: host})
	inner.ErrorLog = log.New(io.Discard, "", 0)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			inner.ServeHTTP(w, r)
			return
		}
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(site.Close)
	r := run(t, "", "label", strings.Replace(reference, host, site.Listener.Addr().String(), 1), "--config", file(t, smallBase), "--push", "--plain-http")
	if r.code != cli.ExitFailure || !strings.Contains(r.err, "which the command does not follow") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
}
