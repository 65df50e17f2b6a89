// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/state"
)

// module is as much of a module as decides what is built.
var module = fstest.MapFS{"go.mod": {Data: []byte("require (\n\tk8s.io/kubernetes v1.2.3\n)\n")}}

func TestLinkerFlagsHaveTheVersion(t *testing.T) {
	want := "-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3 -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36"
	if got := linkerFlags("v1.36.3"); got != want {
		t.Errorf("linker flags: got %q, want %q", got, want)
	}
}

func TestBinKeyFollowsTheToolchain(t *testing.T) {
	a, err := binKey([]fs.FS{module}, "v1.2.3", "go1.1")
	if err != nil {
		t.Fatal(err)
	}
	again, err := binKey([]fs.FS{module}, "v1.2.3", "go1.1")
	if err != nil {
		t.Fatal(err)
	}
	b, err := binKey([]fs.FS{module}, "v1.2.3", "go1.2")
	if err != nil {
		t.Fatal(err)
	}
	if a != again || a == b || !strings.HasPrefix(a, "v1.2.3-") {
		t.Errorf("keys %s, %s and, for another toolchain, %s", a, again, b)
	}
}

func TestBuildTakesWhatTheCacheHas(t *testing.T) {
	t.Setenv("LLSD_CACHE", t.TempDir())
	t.Setenv("PATH", "") // a build would fail
	version, err := KubernetesVersion(module)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Build(t.Context(), module, nil, state.ControlPlane, io.Discard); err == nil || !strings.Contains(err.Error(), "install Go") {
		t.Fatalf("without go and with an empty cache: got %v; want an error that says to install Go", err)
	}
	matches, err := filepath.Glob(filepath.Join(os.Getenv("LLSD_CACHE"), "llama-stack-k8s-operator", "bin", version+"-*.lock"))
	if err != nil || len(matches) != 1 {
		t.Fatalf("locks %v, %v; want one", matches, err)
	}
	dir := strings.TrimSuffix(matches[0], ".lock")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, b := range binaries(state.ControlPlane) {
		if err := os.WriteFile(filepath.Join(dir, b.name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Build(t.Context(), module, nil, state.ControlPlane, io.Discard); err != nil || got != dir {
		t.Errorf("with all programs in the cache: got %q, %v; want %q", got, err, dir)
	}
	if _, err := Build(t.Context(), module, nil, state.Node, io.Discard); err == nil {
		t.Error("the programs of the node tier were not missed")
	}
}

// Another release of Kubernetes has programs of its own in the cache, and keeps those of the usual one.
func TestBuildKeepsReleasesApart(t *testing.T) {
	other := fstest.MapFS{"go.mod": {Data: []byte("require k8s.io/kubernetes v1.1.9\n")}, "go.sum": {}}
	usual, err := binKey([]fs.FS{module}, "v1.2.3", "go1.1")
	if err != nil {
		t.Fatal(err)
	}
	oldest, err := binKey([]fs.FS{module, other}, "v1.1.9", "go1.1")
	if err != nil || oldest == usual || !strings.HasPrefix(oldest, "v1.1.9-") {
		t.Errorf("keys %s and %s, %v", usual, oldest, err)
	}
	if version, err := KubernetesVersion(other); err != nil || version != "v1.1.9" {
		t.Errorf("version %s, %v", version, err)
	}
}

func TestBuildLogCountsWhatIsDone(t *testing.T) {
	log := &buildLog{}
	for _, part := range []string{"go: downloading example.com/a v1.0.0\nexample.com/a\nexample.com", "/b\n# example.com/b\nb.go:1:1: wrong thing\n"} {
		if _, err := log.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if modules, packages := log.counts(); modules != 1 || packages != 2 {
		t.Errorf("%d modules, %d packages, want 1 and 2", modules, packages)
	}
	if !strings.HasSuffix(log.text(), "wrong thing\n") {
		t.Errorf("the text is %q", log.text())
	}
}
