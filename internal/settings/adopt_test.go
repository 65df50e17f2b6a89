// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R48, R16 (the tag decides release line and base).
func TestAdopt(t *testing.T) {
	s, err := Parse(nil)
	framework.NoError(t, err)
	d, f := s.Resolve(&v1alpha2.DistributionSpec{Name: new("starter")})
	if f != nil {
		t.Fatal(f)
	}
	for image, want := range map[string]struct {
		line     string
		standing catalog.VersionMatch
	}{
		"x/starter:0.6.1":    {"0.6", catalog.KnownLine},
		"x/starter:1.4.0":    {"1.4", catalog.KnownLine},
		"x/starter:latest":   {"0.7", catalog.KnownLine}, // the release that operator release 0.9 runs
		"x/starter@sha256:0": {"0.7", catalog.KnownLine},
		"x/starter:9.9.0":    {catalog.Newest(), catalog.Newer},
		"x/starter:0.2.12":   {"", catalog.TooOld},
	} {
		got := d.Adopt(image)
		line := ""
		if got.Line != nil {
			line = got.Line.Name
		}
		if line != want.line || got.Standing != want.standing || got.Base != EmbeddedBase("starter", got.Line) || got.Image != image || got.Name != "starter" ||
			(got.Source == v1alpha2.ConfigSourceEmbedded) != (got.Base != nil) {
			t.Errorf("%s: line %s, %+v", image, line, got)
		}
	}
	if vllm, f := s.Resolve(&v1alpha2.DistributionSpec{Name: new("remote-vllm")}); f != nil || !vllm.ForeignImage ||
		vllm.Adopt("docker.io/llamastack/distribution-remote-vllm:0.7.1").ForeignImage {
		t.Error("what has run with its own configuration is given another one")
	}
	if d.Image == "x/starter:0.6.1" || d.Line.Name != catalog.Newest() {
		t.Errorf("the distribution was changed: %+v", d)
	}
}
