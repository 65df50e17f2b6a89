// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"crypto/x509"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const mirrored = `
mirrors:
- {prefix: docker.io/llamastack, location: mirror.example.com:5000/llama}
- {prefix: docker.io/ogxai, location: mirror.example.com:5000/ogx}
`

// Proves: R60, R14, FR-027f (an image at a mirror resolves like its source, and pods pull images of a mirrored registry
// from the mirror).
func TestMirrorsResolveToTheirSources(t *testing.T) {
	data := map[string]string{settings.KeyRegistries: mirrored}
	s := parse(t, data)
	const at, former = "mirror.example.com:5000/ogx/distribution-starter", "mirror.example.com:5000/llama/distribution-starter"
	for image, want := range map[string][4]string{ // name, release line, base, image
		at + ":1.4.1":                                           {"starter", "1.4", "starter", at + ":1.4.1"},
		"ogxai/distribution-starter:1.4.1":                      {"starter", "1.4", "starter", at + ":1.4.1"},
		"index.docker.io/ogxai/distribution-starter:1.3.1":      {"starter", "1.3", "starter", at + ":1.3.1"},
		former + ":0.6.1":                                       {"starter", "0.6", "starter", former + ":0.6.1"},
		"llamastack/distribution-starter:0.6.1":                 {"starter", "0.6", "starter", former + ":0.6.1"},
		"docker.io/llamastack/distribution-starter:0.7.1":       {"starter", "0.7", "starter", former + ":0.7.1"},
		"index.docker.io/llamastack/distribution-starter:0.7.1": {"starter", "0.7", "starter", former + ":0.7.1"},
		"quay.io/llamastack/distribution-starter:0.7.1":         {"", "0.7", "", "quay.io/llamastack/distribution-starter:0.7.1"},
	} {
		got := resolve(t, s, byImage(image))
		if diff := cmp.Diff(want, [4]string{got.Name, got.Line, got.Base, got.Image}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", image, diff)
		}
	}
	d, f := s.Resolve(byName("starter"))
	if f != nil || d.Image != at+":"+newestRelease || d.NeedsLabels() || !strings.Contains(d.ImageSource, "mirror of docker.io/ogxai") {
		t.Errorf("starter is %+v, %v", d, f)
	}
	if d, f := s.Resolve(byName("remote-vllm")); f != nil || !d.ForeignImage || d.Image != at+":"+newestRelease {
		t.Errorf("remote-vllm is %+v, %v", d, f)
	}
	// The mirror can still have images that the registry has removed.
	if d, f := s.Resolve(byImage("llamastack/distribution-starter:0.6.1")); f != nil || !d.NeedsLabels() {
		t.Errorf("a mirrored image of the removed organization: %+v, %v", d, f)
	}
}

// Proves: R14, R60 (labels of exact built-in images and their copies, and of images with a base in the settings, do not
// count).
func TestLabelsAreReadOnlyIfRelevant(t *testing.T) {
	s := parse(t, map[string]string{
		"distributions": light + "\nbare: {image: 'registry.example/bare:0.7.1'}\n",
		settings.KeyImageOverrides: "postgres-demo: mirror.example/ogxai/distribution-postgres-demo:1.4.1\nmine: registry.example/mine:0.7.1\n" +
			"meta-reference-gpu: mirror.example/distribution-meta-reference-gpu:0.3.4\n",
	})
	for image, want := range map[string]bool{
		starterImage: false, strings.TrimPrefix(starterImage, "docker.io/"): false, "index." + starterImage: false, starterImage + "@" + digest: true,
		"ogxai/distribution-starter:1.4.0": true, "ogxai/distribution-starter@" + digest: true, "ogxai/distribution-starter:latest": true,
		// Removed from all registries.
		"llamastack/distribution-starter:0.6.1": false, "llamastack/distribution-starter@" + digest: false, "registry.example/any:0.7.1": true, "registry.example/light:nightly": false,
	} {
		if d, f := s.Resolve(byImage(image)); f != nil || d.NeedsLabels() != want {
			t.Errorf("image %s: %t, %v; want %t", image, d.NeedsLabels(), f, want)
		}
	}
	for name, want := range map[string]bool{"starter": false, "remote-vllm": false, "light": false, "bare": true, "postgres-demo": false, "mine": true, "meta-reference-gpu": true} {
		if d, f := s.Resolve(byName(name)); f != nil || d.NeedsLabels() != want {
			t.Errorf("name %s: %t, %v; want %t", name, d.NeedsLabels(), f, want)
		}
	}
	off := parse(t, map[string]string{settings.KeyRegistries: "readLabels: false"})
	if off.Registries.ReadsLabels() || !s.Registries.ReadsLabels() {
		t.Error("readLabels does not count")
	}
}

// Proves: R60 (name, image and their sources).
func TestResolveReportsSources(t *testing.T) {
	s := parse(t, map[string]string{"distributions": light, settings.KeyImageOverrides: "starter: registry.example/mine:0.7.1\n"})
	for _, c := range []struct{ name, image, nameSource, imageSource string }{
		{"remote-vllm", "", "spec.distribution.name", "the operator's list of distributions"},
		{"starter", "", "spec.distribution.name", "ConfigMap llama-stack-operator-config, key image-overrides"},
		{"light", "", "spec.distribution.name", "ConfigMap llama-stack-operator-config, key distributions"},
		{"", "llamastack/distribution-starter:0.6.1", "repository of the image", "spec.distribution.image"},
		{"", "registry.example/any:0.6.1", "", "spec.distribution.image"},
	} {
		spec := byImage(c.image)
		if c.name != "" {
			spec = byName(c.name)
		}
		d, f := s.Resolve(spec)
		if f != nil || d.NameSource != c.nameSource || d.ImageSource != c.imageSource {
			t.Errorf("%+v: %+v, %v", c, d, f)
		}
	}
}

// Proves: R63, FR-027f.
func TestInvalidRegistriesAreReported(t *testing.T) {
	key := "-----BEGIN EC PRIVATE KEY-----\nY2FuYXJ5\n-----END EC PRIVATE KEY-----\n"
	for text, want := range map[string]string{
		"mirrors: [{prefix: llamastack, location: a.example}]":                                         `mirrors[0].prefix: Invalid value: "llamastack": must be a registry`,
		"mirrors: [{prefix: docker.io, location: registry/team}]":                                      `mirrors[0].location: Invalid value: "registry/team": must be a registry`,
		"mirrors: [{prefix: docker.io, location: a.example//b}]":                                       "mirrors[0].location: Invalid value",
		"mirrors: [{prefix: docker.io}]":                                                               "mirrors[0].location: Invalid value",
		"mirrors: [{prefix: docker.io, location: 'http://a.b'}]":                                       "mirrors[0].location: Invalid value",
		"allowed: [registry.example.com/team]":                                                         "allowed[0]: Invalid value",
		"allowed: [quay.io, '*.example.com']":                                                          `allowed[1]: Invalid value: "*.example.com": wildcards are not supported`,
		"allowed: ['*']":                                                                               `allowed[0]: Invalid value: "*": wildcards are not supported`,
		"plainHTTP: ['http://a.b']":                                                                    "plainHTTP[0]: Invalid value",
		"caCertificates: none":                                                                         "caCertificates: Invalid value: must be certificates in PEM",
		"caCertificates: |\n  " + strings.ReplaceAll(key, "\n", "\n  "):                                "PEM block 1 is not a certificate",
		"caCertificates: |\n  " + strings.ReplaceAll(string(framework.NewCA(t).PEM)+key, "\n", "\n  "): "PEM block 2 is not a certificate",
		"mirror: []": `mirror: unknown field: did you mean "mirrors"? known fields: allowed, `,
		"[]":         "expected a map, got a list",
	} {
		_, err := settings.Parse(map[string]string{settings.KeyRegistries: text})
		if err == nil || !strings.HasPrefix(err.Error(), "ConfigMap llama-stack-operator-config, key registries: ") || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "Y2FuYXJ5") {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
	ca := framework.NewCA(t)
	s := parse(t, map[string]string{settings.KeyRegistries: "allowed: [docker.io, 'registry.example.com:5000']\nplainHTTP: [localhost]\ncaCertificates: |\n  " +
		strings.ReplaceAll(string(ca.PEM), "\n", "\n  ")})
	if diff := cmp.Diff([]string{"docker.io", "registry.example.com:5000", "localhost"}, s.Registries.Hosts()); diff != "" {
		t.Error(diff)
	}
	for _, location := range []string{"localhost/hub", "registry:5000", "registry.example.com/a/b/"} {
		if _, err := settings.Parse(map[string]string{settings.KeyRegistries: "mirrors: [{prefix: docker.io, location: '" + location + "'}]"}); err != nil {
			t.Errorf("%s: %v", location, err)
		}
	}
}

// Proves: FR-027f.
func TestPoolAddsTheCertificatesOfTheSetting(t *testing.T) {
	system := x509.NewCertPool()
	if got := (&settings.Registries{}).Pool(system); got != system {
		t.Error("without certificates, the pool is not the system's")
	}
	ca := framework.NewCA(t)
	want := x509.NewCertPool()
	want.AppendCertsFromPEM(ca.PEM)
	if got := (&settings.Registries{CACertificates: string(ca.PEM)}).Pool(system); !got.Equal(want) || !system.Equal(x509.NewCertPool()) {
		t.Error("the pool has not the certificate of the setting, or the system's has changed")
	}
}

// Proves: R47, R81, FR-027f (both samples can be applied together).
func TestSamplesForPlatformsAreValid(t *testing.T) {
	var mirrors, registered corev1.ConfigMap
	for file, cm := range map[string]*corev1.ConfigMap{"config/samples/settings/mirrors.yaml": &mirrors, settings.Sample: &registered} {
		raw := framework.ReadFile(t, "../../"+file)
		framework.NoError(t, yaml.UnmarshalStrict(raw, cm))
	}
	s, err := settings.Parse(mirrors.Data, settings.ParseRegistration(&registered))
	if err != nil || len(s.Problems()) > 0 || mirrors.Name != settings.ConfigMapName || registered.Name == mirrors.Name {
		t.Fatalf("%v, %v", err, s.Problems())
	}
	if got := resolve(t, s, byName("rh-dev")); got.Line != "0.7" || got.Source != v1alpha2.ConfigSourceRegistered {
		t.Errorf("%+v", got)
	}
	if got := resolve(t, s, byName("starter")); !strings.HasPrefix(got.Image, "registry.example.com/mirror/ogxai/") {
		t.Errorf("%+v", got)
	}
}
