// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/files"
)

func TestBuildIsPinned(t *testing.T) {
	version, err := KubernetesVersion()
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	staging := "k8s.io/apiserver => k8s.io/apiserver v0." + strings.TrimPrefix(version, "v1.")
	if !strings.Contains(string(mod), staging) {
		t.Errorf("go.mod requires Kubernetes %s but does not replace its parts by that release's: no line %q", version, staging)
	}
	want := "-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3 -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36"
	if got := linkerFlags("v1.36.3"); got != want {
		t.Errorf("linker flags: got %q, want %q", got, want)
	}
}

func TestBinKeyFollowsTheToolchain(t *testing.T) {
	a, err := binKey("v1.2.3", "go1.1")
	if err != nil {
		t.Fatal(err)
	}
	again, err := binKey("v1.2.3", "go1.1")
	if err != nil {
		t.Fatal(err)
	}
	b, err := binKey("v1.2.3", "go1.2")
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
	version, err := KubernetesVersion()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Build(t.Context(), ControlPlane, io.Discard); err == nil || !strings.Contains(err.Error(), "install Go") {
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
	for _, b := range binaries(ControlPlane) {
		if err := os.WriteFile(filepath.Join(dir, b.name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Build(t.Context(), ControlPlane, io.Discard); err != nil || got != dir {
		t.Errorf("with all programs in the cache: got %q, %v; want %q", got, err, dir)
	}
	if _, err := Build(t.Context(), Node, io.Discard); err == nil {
		t.Error("the programs of the node tier were not missed")
	}
}

func TestCacheDir(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/xdg")
	t.Setenv("LLSD_CACHE", "/own")
	for _, c := range []struct{ unset, want string }{
		{"", "/own/llama-stack-k8s-operator"},
		{"LLSD_CACHE", "/xdg/llama-stack-k8s-operator"},
	} {
		if c.unset != "" {
			t.Setenv(c.unset, "")
		}
		if got, err := files.CacheDir(); err != nil || got != c.want {
			t.Errorf("without %q: got %q, %v; want %q", c.unset, got, err, c.want)
		}
	}
	t.Setenv("LLSD_CACHE", "relative")
	if _, err := files.CacheDir(); err == nil || !strings.Contains(err.Error(), "LLSD_CACHE") {
		t.Errorf("a relative path: got %v; want an error that names the variable", err)
	}
}

func TestLockExcludesAndEndsWithItsContext(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	unlock, err := files.Lock(t.Context(), file, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer cancel()
	waits := 0
	if _, err := files.Lock(ctx, file, func() { waits++ }); !errors.Is(err, context.DeadlineExceeded) || waits != 1 {
		t.Errorf("a held lock: got %v after %d notices; want the deadline's error after one", err, waits)
	}
	unlock()
	if unlock, err = files.Lock(t.Context(), file, nil); err != nil {
		t.Fatalf("a released lock: %v", err)
	}
	unlock()
}
