// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Proves: R93, R60 (each spelling of the removed organization's registry is recognized, and no other image is).
func TestRemovedOrganization(t *testing.T) {
	for image, want := range map[string]string{
		"docker.io/llamastack/distribution-starter:0.7.1":                    "docker.io/llamastack",
		"llamastack/distribution-starter:latest":                             "docker.io/llamastack",
		"index.docker.io/llamastack/distribution-starter@" + digest:          "docker.io/llamastack",
		"registry-1.docker.io/llamastack/distribution-starter":               "docker.io/llamastack",
		"docker.io/ogxai/distribution-starter:1.4.0":                         "",
		"docker.io/llamastack-mirror/distribution-starter:0.7.1":             "",
		"quay.io/llamastack/distribution-starter:0.7.1":                      "",
		"mirror.example.com/docker.io/llamastack/distribution-starter:0.7.1": "",
		"not an image": "",
		"":             "",
	} {
		if got := settings.RemovedFrom(image); got != want {
			t.Errorf("%q: %q, want %q", image, got, want)
		}
	}
}

// Proves: R93 (each patch release and each spelling of the registry is recognized, but no other repository).
func TestUnprovenImages(t *testing.T) {
	for image, want := range map[string]string{
		"docker.io/ogxai/distribution-starter:0.7.1":            "not proven: ",
		"ogxai/distribution-starter:0.7.3":                      "not proven: ",
		"docker.io/ogxai/distribution-postgres-demo:0.6.1":      "not proven: ",
		"docker.io/ogxai/distribution-meta-reference-gpu:0.4.7": "not published: ",
		"docker.io/ogxai/distribution-starter:0.6.1":            "",
		"docker.io/ogxai/distribution-starter:1.1.0":            "",
		"docker.io/ogxai/distribution-starter:latest":           "",
		"docker.io/llamastack/distribution-starter:0.7.1":       "",
		"mirror.example.com/ogxai/distribution-starter:0.7.1":   "",
		"not an image": "",
	} {
		if got := settings.UnverifiedSource(image); !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("%q: %q, want %q", image, got, want)
		}
	}
}
