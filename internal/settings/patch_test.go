// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R16, R90, R92 (the known patch release counts from any source, not the newest of its line).
func TestPatchReleaseIsUsedFromEverySource(t *testing.T) {
	s, err := settings.Parse(nil)
	framework.NoError(t, err)
	const foreign = "registry.example.com/mine:latest"
	for name, c := range map[string]struct {
		spec  v1alpha2.DistributionSpec
		hints settings.Hints
		older bool
	}{
		"version":             {v1alpha2.DistributionSpec{Name: new("starter"), Version: new("1.3.0")}, settings.Hints{}, true},
		"version of an image": {v1alpha2.DistributionSpec{Image: new(foreign), Version: new("1.3.0")}, settings.Hints{}, true},
		"tag":                 {v1alpha2.DistributionSpec{Image: new("docker.io/ogxai/distribution-starter:1.3.0")}, settings.Hints{}, true},
		"label":               {v1alpha2.DistributionSpec{Image: new(foreign)}, settings.Hints{Labels: &oci.Labels{Version: "1.3.0", VersionLabel: "x"}}, true},
		"package":             {v1alpha2.DistributionSpec{Image: new(foreign)}, settings.Hints{Package: &oci.Package{Name: "ogx", Version: "1.3.0"}}, true},
		"caller":              {v1alpha2.DistributionSpec{Name: new("starter")}, settings.Hints{Version: "1.3.0", VersionSource: "x"}, true},
		"release line":        {v1alpha2.DistributionSpec{Name: new("starter"), Version: new("1.3")}, settings.Hints{}, false},
		"newest":              {v1alpha2.DistributionSpec{Name: new("starter"), Version: new("1.3.1")}, settings.Hints{}, false},
	} {
		d, p := s.ResolveWithHints(&c.spec, c.hints)
		if p != nil {
			t.Errorf("%s: %v", name, p)
			continue
		}
		if _, has := d.Line.Provider("inference", "remote::passthrough"); d.Line.Name != "1.3" || has == c.older || d.Line.Older() != c.older {
			t.Errorf("%s: line %s, release %s, remote::passthrough %v", name, d.Line.Name, d.Release, has)
		}
	}
}

// Proves: R28, R16.
func TestEmbeddedBaseMatchesPatchRelease(t *testing.T) {
	const name = "thought_signature_store"
	for version, want := range map[string]bool{"1.2.4": false, "1.2.5": true, "1.2": true} {
		line, _ := catalog.ForVersion(version)
		base := settings.EmbeddedBase("starter", line)
		found := false
		for entry := range base.Edit().Providers() {
			found = found || document.Child(entry.Config(), name) != nil
		}
		if found != want || base.Name() != "starter" || !strings.HasPrefix(base.Hash(), "sha256:") {
			t.Errorf("the starter base of %s has %s: %v", version, name, found)
		}
		if again := settings.EmbeddedBase("starter", line); again != base {
			t.Errorf("the starter base of %s is parsed twice", version)
		}
	}
}
