// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Proves: R14, R16, R47 (labels count after the settings and before tag, config schema and embedded base).
func TestResolveWithLabels(t *testing.T) {
	labels := &oci.Labels{
		Version: "1.4.1", VersionLabel: "com.ogx.distribution.version",
		Config: []byte("version: 2\napis: [inference]\n"), ConfigLabel: "com.ogx.config.config.yaml",
	}
	const byLabel = "label com.ogx.distribution.version of the image"
	for name, c := range map[string]struct {
		data map[string]string
		spec *v1alpha2.DistributionSpec
		want resolved
	}{
		"unknown image": {
			nil, byImage("registry.example/mine:0.7.1"),
			resolved{"", "registry.example/mine:0.7.1", "1.4", byLabel, "registry.example/mine:0.7.1", "oci-label"},
		},
		"overridden by digest": {
			map[string]string{"image-overrides": "starter: mirror.example/starter@" + digest}, byName("starter"),
			resolved{"starter", "mirror.example/starter@" + digest, "1.4", byLabel, "mirror.example/starter@" + digest, "oci-label"},
		},
		"registered with the image alone": {
			map[string]string{"distributions": "mine: {image: 'mirror.example/mine:0.7.1'}"}, byName("mine"),
			resolved{"mine", "mirror.example/mine:0.7.1", "1.4", byLabel, "mirror.example/mine:0.7.1", "oci-label"},
		},
		"registered with all": {
			map[string]string{"distributions": light}, byName("light"),
			resolved{
				"light", "registry.example/light:nightly", "0.7", "serverVersion in llama-stack-operator-config/distributions[light]",
				"light", "registered",
			},
		},
		"the exact image of a built-in distribution": {
			nil, byImage(starterImage),
			resolved{"starter", starterImage, catalog.Newest(), "the operator's list of distributions", "starter", "embedded"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, f := parse(t, c.data).ResolveWithHints(c.spec, settings.Hints{Labels: labels})
			if f != nil {
				t.Fatal(f)
			}
			got := resolved{d.Name, d.Image, d.Line.Name, d.LineSource, d.Base.Name(), d.Source}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("resolved to (-want +got):\n%s", diff)
			}
		})
	}
}

// Proves: R14, R16 (the embedded base of the label's release line is used, and a too old release is refused).
func TestLabelsWithoutConfig(t *testing.T) {
	s := parse(t, map[string]string{"image-overrides": "starter: mirror.example/starter:nightly"})
	for version, want := range map[string]string{catalog.Newest() + ".0": catalog.Newest(), "0.6.1": "0.6"} {
		d, f := s.ResolveWithHints(byName("starter"), settings.Hints{Labels: &oci.Labels{Version: version, VersionLabel: oci.LabelImageVersion}})
		if f != nil || d.Line.Name != want || d.Source != v1alpha2.ConfigSourceEmbedded {
			t.Errorf("%q: %+v, %v; want line %s with its embedded base", version, d, f, want)
			continue
		}
		embedded, _ := distributions.Base("starter", want)
		if base, _ := serverconfig.ParseBase("starter", embedded); d.Base.Hash() != base.Hash() {
			t.Errorf("%q: the base is not that of line %s", version, want)
		}
	}
	d, f := s.ResolveWithHints(byName("starter"), settings.Hints{Labels: &oci.Labels{Version: "0.2.23"}})
	if f != nil || d.Standing != catalog.TooOld || d.Line != nil || d.Base != nil || d.Release != "0.2.23" {
		t.Errorf("%+v, %v; want a release that is too old", d, f)
	}
}

// Proves: R14.
func TestBrokenConfigInLabels(t *testing.T) {
	_, f := parse(t, nil).ResolveWithHints(byImage("registry.example/mine:0.7.1"), settings.Hints{
		Labels: &oci.Labels{Config: []byte("- a"), ConfigLabel: oci.LabelConfigBase64},
	})
	if f == nil || f.Reason != problem.InvalidImage ||
		!strings.Contains(f.String(), `Invalid value: "registry.example/mine:0.7.1": label io.llamastack.config.base64: `) {
		t.Errorf("fault %+v", f)
	}
}
