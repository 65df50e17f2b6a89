// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Proves: R93, R60 (an image of the removed organization is known by any spelling of its registry, and no other one is taken for it).
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
