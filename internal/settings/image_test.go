// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Proves: R60 (the repository selects the distribution for any form of the reference, and the tag has the release).
func TestImageIsRecognizedByItsRepository(t *testing.T) {
	s := parse(t, map[string]string{"distributions": light})
	for image, want := range map[string][3]string{ // name, release line, base
		"docker.io/ogxai/distribution-starter:1.4.1":                 {"starter", "1.4", "starter"},
		"ogxai/distribution-starter:0.6.1":                           {"starter", "0.6", "starter"},
		"index.docker.io/ogxai/distribution-starter:0.7.3":           {"starter", "0.7", "starter"},
		"registry-1.docker.io/ogxai/distribution-starter:1.4.0":      {"starter", "1.4", "starter"},
		"registry.hub.docker.com/ogxai/distribution-starter:1.4.0":   {"starter", "1.4", "starter"},
		"docker.io/ogxai/distribution-starter@" + digest:             {"starter", "", ""},
		"docker.io/ogxai/distribution-starter:1.4.1@" + digest:       {"starter", "1.4", "starter"},
		"docker.io/ogxai/distribution-starter":                       {"starter", "", ""},
		"docker.io/ogxai/distribution-postgres-demo:1.3.0":           {"postgres-demo", "1.3", "postgres-demo"},
		"docker.io/llamastack/distribution-starter:0.7.1":            {"starter", "0.7", "starter"},
		"llamastack/distribution-starter:0.6.1":                      {"starter", "0.6", "starter"},
		"index.docker.io/llamastack/distribution-starter:0.7.3":      {"starter", "0.7", "starter"},
		"registry-1.docker.io/llamastack/distribution-starter:0.7.3": {"starter", "0.7", "starter"},
		"docker.io/llamastack/distribution-starter@" + digest:        {"starter", "", ""},
		"docker.io/llamastack/distribution-remote-vllm:0.3.5":        {"remote-vllm", "0.3", "remote-vllm"},
		"docker.io/llamastack/distribution-postgres-demo:0.5.4":      {"postgres-demo", "0.5", "postgres-demo"},
		"docker.io/llamastack/distribution-meta-reference-gpu:0.7.1": {"meta-reference-gpu", "0.7", ""},
		"quay.io/ogxai/distribution-starter:0.7.1":                   {"", "0.7", ""},
		"registry.example/light:0.6.1":                               {"light", "0.6", "light"},
		"registry.example/distribution-starter:0.7.1":                {"", "0.7", ""},
		"docker.io/other/distribution-starter:0.7.1":                 {"", "0.7", ""},
		"registry.example/light/more:0.7.1":                          {"", "0.7", ""},
		"Not A Reference":                                            {"", "", ""},
	} {
		got := resolve(t, s, byImage(image))
		if diff := cmp.Diff(want, [3]string{got.Name, got.Line, got.Base}); diff != "" || got.Image != image {
			t.Errorf("%s (-want +got):\n%s", image, diff)
		}
		if d, _ := s.Resolve(byImage(image)); d.ForeignImage {
			t.Errorf("%s does not run by itself", image)
		}
	}
}

// Proves: R60.
func TestOverrideAppliesOnlyToItsName(t *testing.T) {
	const other = "registry.example/mine:0.6.1"
	before := parse(t, nil)
	after := parse(t, map[string]string{settings.KeyImageOverrides: "starter: " + other})
	for _, image := range []string{starterImage, "llamastack/distribution-starter:0.6.1", other} {
		if diff := cmp.Diff(resolve(t, before, byImage(image)), resolve(t, after, byImage(image))); diff != "" {
			t.Errorf("%s (-without +with the override):\n%s", image, diff)
		}
	}
	for _, name := range []string{"remote-vllm", "postgres-demo", "meta-reference-gpu"} {
		if diff := cmp.Diff(resolve(t, before, byName(name)), resolve(t, after, byName(name))); diff != "" {
			t.Errorf("%s (-without +with the override):\n%s", name, diff)
		}
	}
	if got := resolve(t, after, byName("starter")); got.Image != other || got.Line != "0.6" {
		t.Errorf("starter is %+v", got)
	}
}

// Proves: R60, R14.
func TestRegistrationOfBuiltInNameKeepsImages(t *testing.T) {
	before := parse(t, nil)
	for _, registration := range []string{"starter: {image: 'registry.example/mine:0.6.1'}", "remote-vllm: {image: 'registry.example/mine:0.6.1'}"} {
		after := parse(t, map[string]string{settings.KeyDistributions: registration})
		for _, image := range []string{starterImage, "llamastack/distribution-starter:0.6.1", "docker.io/llamastack/distribution-starter@" + digest} {
			got := resolve(t, after, byImage(image))
			if diff := cmp.Diff(resolve(t, before, byImage(image)), got); diff != "" || got.Name != "starter" {
				t.Errorf("%s, with %s (-without +with the registration):\n%s", image, registration, diff)
			}
		}
	}
}

// Proves: R47, R15, R21 (a mirror of a built-in image that contains another distribution gets a generated
// configuration).
func TestOverriddenImageRunsItsOwnConfiguration(t *testing.T) {
	for image, foreign := range map[string]bool{
		"registry.example.com/mirror/vllm-dist:2026-01":             false,
		"docker.io/llamastack/distribution-remote-vllm:0.7.1":       false,
		"mirror.example/ogxai/distribution-starter:1.4.1":           true,
		"mirror.example/llamastack/distribution-starter:0.7.1":      true,
		"mirror.example:5000/distribution-starter@" + digest:        true,
		"mirror.example/mine/distribution-starter-with-vllm:latest": false,
	} {
		s := parse(t, map[string]string{settings.KeyImageOverrides: "remote-vllm: " + image})
		d, f := s.Resolve(byName("remote-vllm"))
		if f != nil || d.ForeignImage != foreign || d.Image != image {
			t.Errorf("%s: %+v, fault %v", image, d, f)
		}
	}
}
