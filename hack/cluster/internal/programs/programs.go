// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/files"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/state"
)

// modulePath is the path of this module, which contains some of the commands.
const modulePath = "github.com/llamastack/llama-stack-k8s-operator/hack/cluster"

type binary struct {
	name string // file name
	pkg  string // import path of its main package
}

func (b binary) isKubernetes() bool { return strings.HasPrefix(b.pkg, "k8s.io/kubernetes/") }

func binaries(tier state.Tier) []binary {
	kubernetes := func(name string) binary { return binary{name, "k8s.io/kubernetes/cmd/" + name} }
	own := func(name string) binary { return binary{name, modulePath + "/" + name} }
	list := []binary{own("etcd"), kubernetes("kube-apiserver"), kubernetes("kube-controller-manager"), kubernetes("kubectl")}
	if tier == state.Node {
		list = append(list, kubernetes("kube-scheduler"), kubernetes("kubelet"), kubernetes("kube-proxy"), own("coredns"), own("pause"))
	}
	return list
}

var kubernetesRequirement = regexp.MustCompile(`(?m)^\s*(?:require )?k8s\.io/kubernetes (v\d+\.\d+\.\d+\S*)`)

// KubernetesVersion returns the release that go.mod pins, such as v1.36.3.
func KubernetesVersion(sources fs.FS) (string, error) {
	mod, err := fs.ReadFile(sources, "go.mod")
	if err != nil {
		return "", err
	}
	m := kubernetesRequirement.FindSubmatch(mod)
	if m == nil {
		return "", fmt.Errorf("the module of this command requires no k8s.io/kubernetes release")
	}
	return string(m[1]), nil
}

// linkerFlags set the version of the Kubernetes programs; the default v0.0.0 makes clients fail because of the version
// skew.
func linkerFlags(version string) string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	const pkg = "k8s.io/component-base/version"
	return fmt.Sprintf("-s -w -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s", pkg, version, parts[0], parts[1])
}

// cacheKey returns a key of the build that changes with a pin, program or toolchain.
func cacheKey(sources []fs.FS, version, goVersion string) (string, error) {
	sum := sha256.New()
	for _, from := range sources {
		err := fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := fs.ReadFile(from, name)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(sum, "%s %d\n%s", name, len(data), data)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	_, _ = fmt.Fprintf(sum, "%s %s %s", goVersion, runtime.GOOS, runtime.GOARCH)
	return fmt.Sprintf("%s-%x", version, sum.Sum(nil)[:6]), nil
}

// Build compiles the programs of a tier that the cache lacks, with Kubernetes' programs from another go.mod if given,
// and returns their directory. Concurrent builds wait for each other, and progress gets the seconds of each program.
func Build(ctx context.Context, sources, kubernetes fs.FS, tier state.Tier, progress io.Writer) (string, error) {
	all := []fs.FS{sources}
	if kubernetes == nil {
		kubernetes = sources
	} else {
		all = append(all, kubernetes)
	}
	version, err := KubernetesVersion(kubernetes)
	if err != nil {
		return "", err
	}
	key, err := cacheKey(all, version, runtime.Version())
	if err != nil {
		return "", err
	}
	cache, err := files.CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "bin", key)
	if len(missing(dir, tier)) == 0 {
		return dir, nil
	}
	unlock, err := files.Lock(ctx, dir+".lock", func() {
		_, _ = fmt.Fprintln(progress, "waiting for another build of the same programs")
	})
	if err != nil {
		return "", err
	}
	defer unlock()
	todo := missing(dir, tier)
	if len(todo) == 0 {
		return dir, nil
	}
	own := slices.DeleteFunc(slices.Clone(todo), binary.isKubernetes)
	todo = slices.DeleteFunc(todo, func(b binary) bool { return !b.isKubernetes() })
	if len(all) == 1 { // one go command overlaps more
		own, todo = nil, append(own, todo...)
	}
	for _, part := range []struct {
		from fs.FS
		list []binary
	}{{sources, own}, {kubernetes, todo}} {
		if len(part.list) == 0 {
			continue
		}
		if err := compile(ctx, part.from, dir, part.list, linkerFlags(version), progress); err != nil {
			return "", err
		}
	}
	return dir, nil
}

func missing(dir string, tier state.Tier) []binary {
	var list []binary
	for _, b := range binaries(tier) {
		if _, err := os.Stat(filepath.Join(dir, b.name)); err != nil {
			list = append(list, b)
		}
	}
	return list
}

// compile builds all programs with one go command, which links and compiles concurrently, and moves them to dir when
// all are done.
func compile(ctx context.Context, sources fs.FS, dir string, list []binary, ldflags string, progress io.Writer) error {
	if _, err := exec.LookPath("go"); err != nil {
		return fmt.Errorf("building the cluster's programs needs the go command: install Go and put it on PATH: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(dir, ".build-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	module, out := filepath.Join(work, "module"), filepath.Join(work, "bin")
	if err := os.CopyFS(module, sources); err != nil {
		return fmt.Errorf("writing the module to build: %w", err)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}

	args := []string{"build", "-v", "-trimpath", "-ldflags", ldflags, "-o", out + string(filepath.Separator)}
	var names []string
	for _, b := range list {
		args = append(args, b.pkg)
		names = append(names, b.name)
	}
	_, _ = fmt.Fprintf(progress, "building %s (takes minutes if nothing is cached)\n", strings.Join(names, ", "))
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	stderr := &buildLog{}
	cmd.Stderr = stderr
	if err := runReporting(cmd, stderr, out, names, progress); err != nil {
		return fmt.Errorf("go build failed: %w\n%s", err, files.LastLines(stderr.text(), 30))
	}
	for _, name := range names {
		if err := os.Rename(filepath.Join(out, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// progressInterval is the time between two lines of progress.
const progressInterval = 15 * time.Second

// runReporting runs a build and reports the seconds until each file of names appeared in out, and in between the number
// of downloaded modules and compiled packages.
func runReporting(cmd *exec.Cmd, log *buildLog, out string, names []string, progress io.Writer) error {
	start, seen, last := time.Now(), map[string]bool{}, time.Now()
	report := func() {
		for _, name := range names {
			if _, err := os.Stat(filepath.Join(out, name)); err == nil && !seen[name] {
				seen[name], last = true, time.Now()
				_, _ = fmt.Fprintf(progress, "  %-24s built after %3.0f s\n", path.Base(name), time.Since(start).Seconds())
			}
		}
		if time.Since(last) > progressInterval {
			last = time.Now()
			modules, packages := log.counts()
			_, _ = fmt.Fprintf(progress, "  %d modules downloaded, %d packages compiled after %3.0f s\n", modules, packages, time.Since(start).Seconds())
		}
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			report()
			return err
		case <-tick.C:
			report()
		}
	}
}

// buildLog is the output of a verbose go build, safe for concurrent use.
type buildLog struct {
	mu      sync.Mutex
	printed bytes.Buffer
}

// Write implements io.Writer.
func (l *buildLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.printed.Write(p)
}

func (l *buildLog) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.printed.String()
}

// counts returns the number of downloaded modules and compiled packages so far.
func (l *buildLog) counts() (modules, packages int) {
	for line := range strings.Lines(l.text()) {
		switch {
		case strings.HasPrefix(line, "go: downloading "):
			modules++
		case !strings.Contains(line, " "): // an import path
			packages++
		}
	}
	return modules, packages
}
