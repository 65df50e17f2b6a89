// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// Proves: R48, R16 (the image that release 0.9 left: its tag tells the release line and so the base; too old ones are refused).
func TestAdopt(t *testing.T) {
	s, err := Parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	d, f := s.Resolve(&v1alpha2.DistributionSpec{Name: new("starter")})
	if f != nil {
		t.Fatal(f)
	}
	for image, want := range map[string]string{
		"x/starter:0.6.1":    "0.6",
		"x/starter:1.5.0":    "1.5",
		"x/starter:latest":   "0.7", // nothing tells better than the name
		"x/starter@sha256:0": "0.7",
		"x/starter:9.9.0":    "",
		"x/starter:0.2.12":   "Unsupported",
	} {
		got, f := d.Adopt(image)
		switch {
		case want == "Unsupported":
			if f == nil || f.Reason != v1alpha2.ReasonUnsupported || !strings.Contains(f.Message, image) {
				t.Errorf("%s: %v", image, f)
			}
		case f != nil:
			t.Errorf("%s: %v", image, f)
		case want == "":
			if got.Line != nil || got.Base != nil || got.Image != image {
				t.Errorf("%s: %+v", image, got)
			}
		case got.Line.Name != want || got.Base != EmbeddedBase("starter", got.Line) || got.Image != image || got.Name != "starter":
			t.Errorf("%s: %+v", image, got)
		}
	}
	if d.Image == "x/starter:0.6.1" || d.Line.Name != "0.7" {
		t.Errorf("the distribution was changed: %+v", d)
	}
}
