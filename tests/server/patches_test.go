// SPDX-License-Identifier: Apache-2.0

package server

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	serverrelease "github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// patchStories boot starter and remote-vllm on the oldest patch release of a release line. The loader alone validates
// postgres-demo.
var patchStories = []string{"us-1.2", "base-remote-vllm"}

// oldestPatches returns the first patch release of each release line that has newer ones.
func oldestPatches(t *testing.T) []release {
	t.Helper()
	var oldest []release
	for _, row := range readTable(t, "patches.tsv", 2) {
		version, _, _ := strings.Cut(row[1], " ")
		oldest = append(oldest, release{line: row[0], version: version})
	}
	return oldest
}

// The bases and goldens for the oldest patch release of each release line are valid for it, starter means what the
// release ships, and the bases boot. TestStoriesBoot covers the newest releases.
//
// Proves: R16, R28, R47.
func TestOldestPatchReleasesBoot(t *testing.T) {
	t.Parallel()
	for _, r := range oldestPatches(t) {
		t.Run(r.version, func(t *testing.T) {
			t.Parallel()
			n := forkServerOf(t, r)
			defer stopForkServer(r)
			compareStarter(t, r)
			validateBases(t, r)
			if files := writeGoldens(t, r.version); len(files) > 0 {
				for _, v := range validate(t, r, append([]string{"--dummy", "LLSD_"}, files...)...) {
					checkGolden(t, v)
				}
			}
			bootStories(t, n, r, patchStories)
		})
	}
}

// A release newer than the catalog accepts the configuration for the newest release line before it. "make upstream"
// installs the release and names it in LLSD_UPSTREAM.
//
// Proves: R16.
func TestUpstreamReleaseBoots(t *testing.T) {
	version := os.Getenv("LLSD_UPSTREAM")
	line, standing := catalog.ForVersion(version)
	if standing == catalog.NoVersion {
		return
	}
	r := release{line: line.Name, version: version}
	defer stopForkServer(r)
	validateBases(t, r)
	bootStories(t, forkServerOf(t, r), r, patchStories)
}

// bootStories boots the named stories with a release, as TestStoriesBoot does.
func bootStories(t *testing.T, n *forkServer, r release, names []string) {
	t.Helper()
	refused, elsewhere := rowsOf(readTable(t, "testdata/refused.tsv", 3)), rowsOf(readTable(t, "testdata/not-booted.tsv", 3))
	for _, s := range allStories(t) {
		_, not := elsewhere.text(s.name, r.line)
		if !slices.Contains(names, s.name) || not {
			continue
		}
		b, ok := prepare(t, r, s, refused)
		if !ok {
			continue
		}
		reduce(b.booted, b.base, unbootables(t, r.line))
		b.backends = startBackends(t, b.asked)
		server := b.boot(t, n)
		for _, fault := range answerFaults(t, b, server) {
			t.Errorf("%s: %s", s.name, fault)
		}
		server.stop()
	}
}

func compareStarter(t *testing.T, r release) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "base.yaml")
	framework.WriteFile(t, file, string(baseOf(t, "starter", r)))
	if out, differs := runScript(t, r, "packaged.py", file, "starter"); differs {
		t.Errorf("the starter base differs from the packaged one:\n%s", out)
	}
}

// validateBases validates all bases with the loader of a release, with conditional providers disabled and enabled.
func validateBases(t *testing.T, r release) {
	t.Helper()
	bases, err := filepath.Glob(allBases + r.line + ".yaml")
	if err != nil || len(bases) < 2 {
		t.Fatalf("%q, %v", bases, err)
	}
	var args []string
	for _, base := range bases {
		name := filepath.Base(filepath.Dir(base))
		file := filepath.Join(t.TempDir(), name+".yaml")
		framework.WriteFile(t, file, string(baseOf(t, name, r)))
		args = append(args, file, copyWithEnv(t, file, allOn))
	}
	for _, v := range validate(t, r, append([]string{"--base", "--libyaml"}, args...)...) {
		for _, f := range v.Findings {
			t.Errorf("%s: %s", v.Config, f)
		}
	}
}

// baseOf returns the base configuration of a distribution for a release.
func baseOf(t *testing.T, distribution string, r release) []byte {
	t.Helper()
	base, ok := distributions.Base(distribution, r.line)
	if !ok {
		t.Fatalf("no base of distribution %q for line %s", distribution, r.line)
	}
	base, err := serverrelease.ForPatch(base, lineOf(t, r))
	framework.NoError(t, err)
	return base
}

// patches.tsv also has every patch release that the catalog distinguishes.
func TestPatchReleasesAreOlderThanTheCatalog(t *testing.T) {
	for _, row := range readTable(t, "patches.tsv", 2) {
		line, ok := catalog.Get(row[0])
		if !ok {
			t.Errorf("patches.tsv has release line %s, the catalog does not", row[0])
			continue
		}
		releases := strings.Fields(row[1])
		if first := line.Name + ".0"; releases[0] != first || !slices.IsSortedFunc(releases, catalog.Compare) {
			t.Errorf("the patch releases of %s are %v: want them in order from %s on", row[0], releases, first)
		}
		for _, version := range releases {
			if of, _ := catalog.ForVersion(version); of.Name != line.Name || catalog.Compare(version, line.Release) >= 0 {
				t.Errorf("%s is no older patch release of %s", version, line.Release)
			}
		}
		for _, p := range line.Patches {
			if p.Before != line.Release && !slices.Contains(releases, p.Before) {
				t.Errorf("line %s: something came with release %s, which patches.tsv does not have", line.Name, p.Before)
			}
		}
	}
}
