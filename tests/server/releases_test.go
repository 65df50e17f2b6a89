// SPDX-License-Identifier: Apache-2.0

package server

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// release is a row of releases.tsv.
type release struct {
	line, version string
	// newest means that this is the first row of its release line, from which the catalog is made.
	newest bool
}

func releases(t *testing.T) []release {
	t.Helper()
	content := framework.ReadFile(t, "releases.tsv")
	var all []release
	seen := map[string]bool{}
	for row := range strings.Lines(string(content)) {
		if strings.HasPrefix(row, "#") {
			continue
		}
		columns := strings.Split(row, "\t")
		if len(columns) < 4 {
			t.Fatalf("releases.tsv: %d columns in %q", len(columns), row)
		}
		all = append(all, release{line: columns[0], version: columns[2], newest: !seen[columns[0]]})
		seen[columns[0]] = true
	}
	return all
}

func forEachRelease(t *testing.T, test func(*testing.T, release)) {
	t.Helper()
	for _, r := range releases(t) {
		t.Run(r.version, func(t *testing.T) {
			t.Parallel()
			test(t, r)
		})
	}
}

// bootedReleases returns the releases that tests with a database boot: the image's and those of the newest release
// line, or all in the full run.
func bootedReleases(t *testing.T) []release {
	t.Helper()
	if os.Getenv(everywhere) != "" {
		return releases(t)
	}
	return slices.DeleteFunc(releases(t), func(r release) bool {
		return r.version != imageRelease(t).version && r.line != catalog.Newest()
	})
}

// pinnedOf07 is the pinned release of release line 0.7, the newest with safety. Operator release 0.9 also runs it.
var pinnedOf07 = func() distributions.Release {
	starter, _ := distributions.Get("starter")
	pinned, _ := starter.OfLine("0.7")
	return pinned
}()

// imageRelease returns the release pinnedOf07, of which light images are also made.
func imageRelease(t *testing.T) release {
	t.Helper()
	version := pinnedOf07.Version
	for _, r := range releases(t) {
		if r.version == version {
			return r
		}
	}
	t.Fatalf("releases.tsv has no release %s, which distributions.json pins", version)
	return release{}
}

// Proves: R16, R28.
func TestReleasesAreTheLinesOfTheCatalog(t *testing.T) {
	var lines []string
	for _, r := range releases(t) {
		if !r.newest {
			continue
		}
		lines = append(lines, r.line)
		line, ok := catalog.Get(r.line)
		if !ok || line.Release != r.version {
			t.Errorf("release %s is the newest of line %s, and the catalog was made from %+v: make catalog", r.version, r.line, line)
		}
		if _, ok := distributions.Base("starter", r.line); !ok {
			t.Errorf("no starter base for line %s", r.line)
		}
	}
	if want := catalog.Lines(); !slices.Equal(lines, want) {
		t.Errorf("releases.tsv has the lines %v, the catalog %v", lines, want)
	}
}
