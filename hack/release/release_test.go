// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const (
	root  = "../.."
	image = "quay.io/llamastack/llama-stack-k8s-operator"
)

var released = []string{
	"checksums.txt",
	"install.yaml",
	"kubectl-llamastack_V_darwin_arm64.tar.gz",
	"kubectl-llamastack_V_darwin_arm64.tar.gz.spdx.json",
	"kubectl-llamastack_V_windows_amd64.zip",
	"kubectl-llamastack_V_windows_amd64.zip.spdx.json",
	"llama-stack-k8s-operator-chart-V.tgz",
	"llamastack.krew.yaml",
	"operator-image-linux-amd64.spdx.json",
	"operator-image-linux-arm64.spdx.json",
	"operator-image.digest",
	"operator-image.oci.tar",
	"provenance.json",
}

// The bytes depend neither on the directory nor on the time of the build.
func TestReleaseIsReproducible(t *testing.T) {
	first, second := makeRelease(t, buildDirectory(t)), makeRelease(t, buildDirectory(t))
	var want []string
	for _, file := range released {
		want = append(want, strings.ReplaceAll(file, "_V_", "_"+version(t)+"_"))
	}
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], "-V.", "-"+version(t)+".")
	}
	entries, err := os.ReadDir(first)
	framework.NoError(t, err)
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
		if read(t, first, entry.Name()) != read(t, second, entry.Name()) {
			t.Errorf("%s differs", entry.Name())
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReleaseFilesAreConsistent(t *testing.T) {
	out := makeRelease(t, buildDirectory(t))
	sums := map[string]string{}
	for line := range strings.Lines(read(t, out, "checksums.txt")) {
		sum, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if got, err := checksum(filepath.Join(out, file)); err != nil || got != sum {
			t.Errorf("%s: checksum %s, listed as %s (%v)", file, got, sum, err)
		}
		sums[file] = sum
	}
	if len(sums) != len(released)-1 {
		t.Errorf("%d checksums of %d files", len(sums), len(released))
	}

	runVerification(t, out)

	var krew krewPlugin
	framework.NoError(t, yaml.UnmarshalStrict([]byte(read(t, out, "llamastack.krew.yaml")), &krew))
	for _, p := range krew.Spec.Platforms {
		archive := filepath.Base(p.URI)
		members := tarMembers
		if strings.HasSuffix(archive, ".zip") {
			members = zipMembers
		}
		if want := []string{p.Bin + " 755", "LICENSE 644"}; sums[archive] != p.Sha256 || !slices.Equal(members(t, filepath.Join(out, archive)), want) {
			t.Errorf("krew installs %+v; the archive has %v", p, members(t, filepath.Join(out, archive)))
		}
	}
	if len(krew.Spec.Platforms) != 2 || krew.Metadata["name"] != "llamastack" {
		t.Errorf("the krew manifest is %+v", krew)
	}

	var provenanceStatement statement
	framework.NoError(t, json.Unmarshal([]byte(read(t, out, "provenance.json")), &provenanceStatement))
	for _, s := range provenanceStatement.Subject {
		if sums[s.Name] != s.Digest["sha256"] {
			t.Errorf("the provenance has %s with %v, its checksum is %s", s.Name, s.Digest, sums[s.Name])
		}
	}
	if len(provenanceStatement.Subject) != len(sums)-1 {
		t.Errorf("%d subjects, %d checksums", len(provenanceStatement.Subject), len(sums))
	}
}

func TestImageArchiveHasAllArchitectures(t *testing.T) {
	out := makeRelease(t, buildDirectory(t))
	dir := t.TempDir()
	if text, err := exec.Command("tar", "-xf", filepath.Join(out, "operator-image.oci.tar"), "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	index, err := layout.ImageIndexFromPath(dir)
	framework.NoError(t, err)
	top, err := index.IndexManifest()
	if err != nil || len(top.Manifests) != 1 {
		t.Fatalf("%v: %+v", err, top)
	}
	if got := top.Manifests[0]; got.Annotations[refName] != image+":v"+version(t) || got.Digest.String()+"\n" != read(t, out, "operator-image.digest") {
		t.Errorf("the archive has %+v", got)
	}
	all, err := index.ImageIndex(top.Manifests[0].Digest)
	framework.NoError(t, err)
	manifest, err := all.IndexManifest()
	framework.NoError(t, err)
	var got []string
	for _, m := range manifest.Manifests {
		got = append(got, m.Platform.String())
		if _, err := all.Image(m.Digest); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"linux/amd64", "linux/arm64"}; !slices.Equal(got, want) {
		t.Errorf("platforms %v, want %v", got, want)
	}
}

func TestSBOMNamesEveryModule(t *testing.T) {
	program, err := os.Executable()
	framework.NoError(t, err)
	r, err := parse([]string{"-build", "x", "-output", t.TempDir(), "-version", "1", "-image", image, "-time", "1"})
	framework.NoError(t, err)
	framework.NoError(t, r.sbom(program, "this"))
	text := read(t, r.output, "this.spdx.json")
	for _, want := range []string{`"pkg:golang/sigs.k8s.io/yaml@v`, `"pkg:golang/std@` + runtime.Version() + `"`, `"SPDX-2.3"`, `"1970-01-01T00:00:01Z"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%.3000s", want, text)
		}
	}
}

func TestReleaseRejectsOtherVersions(t *testing.T) {
	build := buildDirectory(t)
	for want, args := range map[string][]string{
		"Chart.yaml has another version": arguments(t, build, t.TempDir(), "9.9.9", image+":v"+version(t)),
		"dist/install.yaml does not":     arguments(t, build, t.TempDir(), version(t), image+":latest"),
		"-time is required":              {"-build", build, "-output", t.TempDir(), "-version", "1", "-image", image},
		"-version is required":           {"-build", build, "-output", t.TempDir(), "-image", image, "-time", "1"},
		"no images in":                   arguments(t, filepath.Join(build, "none"), t.TempDir(), version(t), image),
	} {
		if want == "no images in" {
			framework.NoError(t, os.MkdirAll(filepath.Join(build, "none", "plugin"), 0o755))
		}
		if err := run(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func version(t *testing.T) string { t.Helper(); return strings.TrimSpace(read(t, root, "VERSION")) }

func arguments(t *testing.T, build, out, version, ref string) []string {
	t.Helper()
	return []string{"-root", root, "-build", build, "-output", out, "-version", version, "-commit", "abc", "-image", ref, "-time", "1767323045"}
}

func makeRelease(t *testing.T, build string) string {
	t.Helper()
	out := t.TempDir()
	framework.NoError(t, run(arguments(t, build, out, version(t), image+":v"+version(t))))
	return out
}

// buildDirectory returns a build directory with a small program instead of the plugin and the operator.
func buildDirectory(t *testing.T) string {
	t.Helper()
	dir, source := t.TempDir(), t.TempDir()
	write(t, filepath.Join(source, "go.mod"), "module example.com/small\n\ngo 1.26.0\n")
	write(t, filepath.Join(source, "main.go"), "package main\n\nfunc main() {}\n")
	small := filepath.Join(source, "small")
	build := exec.Command("go", "build", "-trimpath", "-o", small, ".")
	build.Dir = source
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	program := framework.ReadFile(t, small)
	for _, path := range []string{"plugin/darwin-arm64/kubectl-llamastack", "plugin/windows-amd64/kubectl-llamastack.exe", "image/manager-linux-amd64", "image/manager-linux-arm64"} {
		write(t, filepath.Join(dir, path), string(program))
	}
	for _, arch := range []string{"amd64", "arm64"} {
		packed, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: arch})
		framework.NoError(t, err)
		ref, err := name.NewTag(image + ":v1")
		framework.NoError(t, err)
		framework.NoError(t, tarball.WriteToFile(filepath.Join(dir, "image", "linux-"+arch+".tar"), ref, packed))
	}
	return dir
}

func write(t *testing.T, path, content string) {
	t.Helper()
	framework.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o600)))
}

func read(t *testing.T, dir, file string) string {
	t.Helper()
	content := framework.ReadFile(t, filepath.Join(dir, file))
	return string(content)
}

func tarMembers(t *testing.T, path string) (members []string) {
	t.Helper()
	in, err := os.Open(path)
	framework.NoError(t, err)
	defer in.Close() //nolint:errcheck // nothing was written
	content, err := gzip.NewReader(in)
	framework.NoError(t, err)
	archive := tar.NewReader(content)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return members
		}
		framework.NoError(t, err)
		members = append(members, member(header.Name, header.FileInfo().Mode()))
	}
}

func zipMembers(t *testing.T, path string) (members []string) {
	t.Helper()
	archive, err := zip.OpenReader(path)
	framework.NoError(t, err)
	defer archive.Close() //nolint:errcheck // nothing was written
	for _, f := range archive.File {
		members = append(members, member(f.Name, f.Mode()))
	}
	return members
}

func member(path string, mode os.FileMode) string {
	return path + " " + map[os.FileMode]string{0o755: "755", 0o644: "644"}[mode.Perm()]
}

// runVerification runs the block of docs/maintainers/releasing.md that verifies a download, in a release's directory.
func runVerification(t *testing.T, dir string) {
	t.Helper()
	ran := 0
	for _, b := range framework.CodeBlocks(t, filepath.Join(root, "docs", "maintainers", "releasing.md")) {
		if b.Info != "sh" {
			continue
		}
		ran++
		check := exec.CommandContext(t.Context(), "bash", "-euc", b.Text)
		check.Dir = dir
		if out, err := check.CombinedOutput(); err != nil || strings.Count(string(out), ": OK\n") != len(released)-1 {
			t.Errorf("%s: %v\n%s", b.Text, err, out)
		}
	}
	if ran != 1 {
		t.Errorf("%d blocks were found", ran)
	}
}
