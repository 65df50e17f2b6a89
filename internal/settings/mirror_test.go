// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Proves: FR-027f (the location replaces the longest matching prefix).
func TestRewriteFollowsTheLongestPrefix(t *testing.T) {
	mirrors := settings.Mirrors{
		{Prefix: "docker.io", Location: "mirror.example.com:5000/hub/"},
		{Prefix: "index.docker.io/llamastack/", Location: "mirror.example.com/llama"},
		{Prefix: "quay.io/team/server", Location: "mirror.example.com/server"},
		{Prefix: "quay.io/team/server/", Location: "second.example.com/server"},
		{Prefix: "docker.io.example.com", Location: "mirror.example.com/other"},
	}
	for image, want := range map[string]string{
		"llamastack/distribution-starter:0.7.1":               "mirror.example.com/llama/distribution-starter:0.7.1",
		"docker.io/llamastack/distribution-starter@" + digest: "mirror.example.com/llama/distribution-starter@" + digest,
		"index.docker.io/llamastack/distribution-starter":     "mirror.example.com/llama/distribution-starter",
		"busybox":                           "mirror.example.com:5000/hub/library/busybox",
		"docker.io/llamastacks/other:1":     "mirror.example.com:5000/hub/llamastacks/other:1",
		"quay.io/team/server:1":             "mirror.example.com/server:1",
		"quay.io/team/server-two:1":         "quay.io/team/server-two:1",
		"registry.example.com:5000/a/b:1.2": "registry.example.com:5000/a/b:1.2",
		"llamastack/x:1@" + digest:          "mirror.example.com/llama/x:1@" + digest,
		"not a reference":                   "not a reference",
		"index.docker.io.example.com/a:1":   "index.docker.io.example.com/a:1",
	} {
		got, mirror := mirrors.Rewrite(image)
		if got != want || (mirror == nil) != (got == image) {
			t.Errorf("%s: %s by %+v; want %s", image, got, mirror, want)
		}
	}
	whole := settings.Mirrors{{Prefix: "index.docker.io", Location: "localhost/hub"}}
	if got, _ := whole.Rewrite("docker.io/llamastack/x:1"); got != "localhost/hub/llamastack/x:1" {
		t.Errorf("Docker's registry by its other name: %s", got)
	}
	for image, want := range map[string]string{
		"mirror.example.com/llama/distribution-starter:0.7.1": "index.docker.io/llamastack/distribution-starter:0.7.1",
		"mirror.example.com:5000/hub/library/busybox":         "docker.io/library/busybox",
		"docker.io/llamastack/distribution-starter:0.7.1":     "docker.io/llamastack/distribution-starter:0.7.1",
	} {
		if got, _ := mirrors.Origin(image); got != want {
			t.Errorf("%s is a copy of %s; want %s", image, got, want)
		}
	}
}
