// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"errors"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
)

// Proves: FR-027f (images of a mirrored registry are found where the mirror is).
func TestRewriteFollowsTheLongestPrefix(t *testing.T) {
	mirrors := registry.Mirrors{
		{Prefix: "docker.io", Location: "mirror.example.com:5000/hub/"},
		{Prefix: "docker.io/llamastack/", Location: "mirror.example.com/llama"},
		{Prefix: "quay.io/team/server", Location: "mirror.example.com/server"},
	}
	const digest = "sha256:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"
	for reference, want := range map[string]string{
		"llamastack/distribution-starter:0.7.1":               "mirror.example.com/llama/distribution-starter:0.7.1",
		"docker.io/llamastack/distribution-starter@" + digest: "mirror.example.com/llama/distribution-starter@" + digest,
		"index.docker.io/llamastack/distribution-starter":     "mirror.example.com/llama/distribution-starter:latest",
		"busybox":                           "mirror.example.com:5000/hub/library/busybox:latest",
		"docker.io/llamastacks/other:1":     "mirror.example.com:5000/hub/llamastacks/other:1",
		"quay.io/team/server:1":             "mirror.example.com/server:1",
		"quay.io/team/server-two:1":         "quay.io/team/server-two:1",
		"registry.example.com:5000/a/b:1.2": "registry.example.com:5000/a/b:1.2",
		"llamastack/x:1@" + digest:          "mirror.example.com/llama/x@" + digest,
	} {
		got, err := mirrors.Rewrite(reference)
		if err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", reference, got, err, want)
		}
	}
	if _, err := mirrors.Rewrite("not a reference"); kindOf(err) != registry.InvalidReference {
		t.Errorf("a text that is no reference: %v", err)
	}
}

func kindOf(err error) registry.Kind {
	if known, ok := errors.AsType[*registry.Error](err); ok {
		return known.Kind
	}
	return ""
}
