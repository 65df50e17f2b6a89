// SPDX-License-Identifier: Apache-2.0

package distributions_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

// Proves: R28, R93, L-16 (each name has a pinned image for each release line, and a source for its publication).
func TestDistributions(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range distributions.All() {
		if seen[d.Name] {
			t.Errorf("%s stands twice", d.Name)
		}
		seen[d.Name] = true
		if d.Note == "" {
			t.Errorf("%s: the image to run is unknown", d.Name)
		}
		if !strings.HasPrefix(d.Repository, "docker.io/ogxai/") || !slices.Contains(d.Images, "docker.io/ogxai/distribution-"+d.Name) ||
			!slices.Contains(d.Images, "docker.io/llamastack/distribution-"+d.Name) {
			t.Errorf("%s: images %s and %v", d.Name, d.Repository, d.Images)
		}
		var lines []string
		for _, r := range d.Releases {
			line, standing := catalog.ForVersion(r.Version)
			if standing != catalog.KnownLine || line.Name != r.Line || strings.Count(r.Version, ".") != 2 {
				t.Errorf("%s: version %s is not of the known line %s", d.Name, r.Version, r.Line)
			}
			data, ok := distributions.Base(d.Base, r.Line)
			if !ok {
				t.Fatalf("%s: no base %s for line %s", d.Name, d.Base, r.Line)
			}
			if _, err := serverconfig.ParseBase(d.Base, data); err != nil {
				t.Errorf("%s: %v", d.Name, err)
			}
			if r.Source == "" {
				t.Errorf("%s: it is unknown whether release %s is published", d.Name, r.Version)
			}
			if want := d.Repository + ":" + r.Version; d.Image(r.Version) != want {
				t.Errorf("image %s, want %s", d.Image(r.Version), want)
			}
			lines = append(lines, r.Line)
		}
		var want []string
		for _, line := range slices.Backward(catalog.Lines()) {
			if _, ok := distributions.Base(d.Base, line); ok {
				want = append(want, line)
			}
		}
		if !slices.Equal(lines, want) || d.Newest().Line != want[0] {
			t.Errorf("%s: release lines %v, the newest %s; want %v", d.Name, lines, d.Newest().Line, want)
		}
	}
	for _, name := range []string{"starter", "remote-vllm", "meta-reference-gpu", "postgres-demo"} {
		if _, known := distributions.Get(name); !known || !seen[name] {
			t.Errorf("no distribution %s", name)
		}
	}
	if _, known := distributions.Get("nope"); known {
		t.Error("there is a distribution that nothing names")
	}
}

// From release line 1.1 on, the default images of new resources are published.
//
// Proves: R93.
func TestPublishedReleases(t *testing.T) {
	for _, name := range []string{"starter", "postgres-demo"} {
		d, _ := distributions.Get(name)
		for _, r := range d.Releases {
			if catalog.Compare(r.Line, "1.1") >= 0 && (!r.Published || r.OnlyByVersion) {
				t.Errorf("%s, release %s: %+v", name, r.Version, r)
			}
		}
	}
}

func TestBaseOfUnknownName(t *testing.T) {
	for _, c := range [][2]string{{"starter", "0.1"}, {"nope", "0.7"}, {"..", "0.7"}, {"", ""}} {
		if _, ok := distributions.Base(c[0], c[1]); ok {
			t.Errorf("Base(%q, %q) exists", c[0], c[1])
		}
	}
}

func TestDistributionsIsACopy(t *testing.T) {
	distributions.All()[0].Name = "changed"
	if got := distributions.All()[0].Name; got == "changed" {
		t.Error("a caller changed the table of all")
	}
}

// Proves: R28.
func TestBasesForEveryLine(t *testing.T) {
	lines := catalog.Lines()
	for name, want := range map[string][]string{
		"starter": lines, "remote-vllm": lines, "postgres-demo": lines, "meta-reference-gpu": {"0.3", "0.4"},
	} {
		for _, line := range lines {
			data, ok := distributions.Base(name, line)
			if ok != slices.Contains(want, line) {
				t.Errorf("%s, line %s: there is a base: %v", name, line, ok)
			}
			if !ok {
				continue
			}
			base, err := serverconfig.ParseBase(name, data)
			if err != nil {
				t.Errorf("%s, line %s: %v", name, line, err)
			} else if !slices.Contains(release.Lines(base), line) {
				t.Errorf("%s, line %s: it has the config schema of %q", name, line, release.Lines(base))
			}
		}
	}
}

// Bases refer to variables only with a default or a condition, so a server starts without them.
//
// Proves: R28, R47.
func TestBasesDemandNoVariable(t *testing.T) {
	demanded := regexp.MustCompile(`\$\{env\.[A-Z0-9_]+}`)
	for _, d := range distributions.All() {
		for _, line := range catalog.Lines() {
			data, _ := distributions.Base(d.Base, line)
			if found := demanded.FindAll(data, -1); found != nil {
				t.Errorf("%s, line %s: demands %q", d.Name, line, found)
			}
		}
	}
}
