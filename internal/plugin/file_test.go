// SPDX-License-Identifier: Apache-2.0

//go:build unix

package plugin_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const readable = "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: s}\nspec:\n  distribution: {name: starter}\n" +
	"  providers: {inference: {provider: vllm, endpoint: 'http://vllm:8000'}}\n"

// runSoon runs the plugin, and fails the test if it does not end within two minutes.
func runSoon(t *testing.T, args ...string) result {
	t.Helper()
	ended := make(chan result, 1)
	go func() { ended <- run(t, "", args...) }()
	select {
	case r := <-ended:
		return r
	case <-time.After(2 * time.Minute):
		t.Fatalf("%q waits", args)
		return result{}
	}
}

// A FIFO or an endless file, given by name or found in a directory, blocks no command.
//
// Proves: NFR-004.
func TestNoVerbWaitsForAFileThatIsNotRegular(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo.yaml")
	framework.NoError(t, syscall.Mkfifo(fifo, 0o600))
	// Opening the writing end at the end of the test unblocks a command that waits.
	t.Cleanup(func() {
		if end, err := os.OpenFile(fifo, os.O_RDWR|syscall.O_NONBLOCK, 0); err == nil {
			_ = end.Close()
		}
	})
	link := filepath.Join(t.TempDir(), "link.yaml")
	framework.NoError(t, os.Symlink("/dev/zero", link))
	good := write(t, readable)
	image := "registry.example/a:1"
	for _, args := range [][]string{
		{"render", "-f", fifo}, {"render", "-f", good, "--settings", fifo}, {"render", "-f", good, "--base", fifo},
		{"render", "-f", good, "--image-labels", fifo},
		{"validate", "-f", fifo}, {"validate", "-f", dir}, {"validate", "-R", "-f", filepath.Dir(dir)}, {"validate", "-f", link}, {"validate", "--settings", fifo},
		{"convert", "--to", "v1alpha1", "-f", fifo}, {"convert", "--to", "v1alpha1", "-f", dir}, {"convert", "--to", "v1alpha1", "-f", good, "--settings", fifo},
		{"migrate", "-f", fifo}, {"migrate", "-f", link}, {"migrate", "-f", good, "--settings", fifo},
		{"upgrade-check", "--to", "0.7", "-f", fifo}, {"upgrade-check", "--to", "0.7", "-f", good, "--settings", fifo},
		{"label", image, "--config", fifo, "--push"}, {"label", "oci-archive:" + fifo, "--config", file(t, smallBase), "-o", filepath.Join(t.TempDir(), "x.tar")},
		{"label", "oci-archive:" + link, "--config", file(t, smallBase), "-o", filepath.Join(t.TempDir(), "x.tar")},
	} {
		r := runSoon(t, args...)
		if all := r.out + r.err; r.code != cli.ExitFailure || !strings.Contains(all, "not a regular file") {
			t.Errorf("%q: exit code %d: %s", args, r.code, all)
		}
	}
}

// A pipe is readable, as in: validate -f <(helm template …).
func TestVerbsReadPipes(t *testing.T) {
	from, to, err := os.Pipe()
	framework.NoError(t, err)
	t.Cleanup(func() { _ = from.Close() })
	go func() {
		_, _ = to.WriteString(readable)
		_ = to.Close()
	}()
	if r := runSoon(t, "validate", "-f", fmt.Sprintf("/dev/fd/%d", from.Fd())); r.code != cli.ExitOK || !strings.Contains(r.err, "1 checked") {
		t.Errorf("exit code %d: %s%s", r.code, r.out, r.err)
	}
}

// sparse returns an archive of a few KB with a sparse file of size bytes.
func sparse(t *testing.T, name string, size int64) string {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	content := make([]byte, 512+1) // the sparse map, and the file's only byte
	copy(content, "1\n0\n1\n")
	// The tar package does not write sparse files. These keys have the same length as those that it reads.
	records := map[string]string{"XXX.sparse.major": "1", "XXX.sparse.minor": "0", "XXX.sparse.name": name, "XXX.sparse.realsize": fmt.Sprint(size)}
	header := &tar.Header{Name: "x", Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg, Format: tar.FormatPAX, PAXRecords: records}
	framework.NoError(t, w.WriteHeader(header))
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	framework.NoError(t, w.Close())
	file := filepath.Join(t.TempDir(), "sparse.tar")
	framework.WriteFile(t, file, bytes.ReplaceAll(archive.Bytes(), []byte("XXX.sparse."), []byte("GNU.sparse.")))
	return file
}

// Neither sparse files nor entries that an image does not have can fill the disk.
//
// Proves: R63.
func TestLabelUnpacksNoMoreThanAnArchiveHas(t *testing.T) {
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch)
	config := file(t, smallBase)
	r := runSoon(t, "label", "oci-archive:"+sparse(t, "index.json", 64<<20), "--config", config, "-o", filepath.Join(t.TempDir(), "x.tar"))
	if r.code != cli.ExitFailure || !strings.Contains(r.err, "sparse files") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
	reference := imageSite(t, randomImage(t))
	original := filepath.Join(t.TempDir(), "image.tar")
	want := mustRun(t, "", "label", reference, "--config", config, "--server-version", "0.7.1", "-o", original, "--plain-http")
	padded := withEntries(t, original, map[string]int{
		strings.Repeat("d/", 3000) + "x": 0, "blobs/sha256/../../../escape": 1, "blobs/more": 1, "blobs/sha256/" + strings.Repeat("0", 64) + "/x": 1,
	})
	if got := mustRun(t, "", "label", "oci-archive:"+padded, "--config", config, "--server-version", "0.7.1", "-o", filepath.Join(t.TempDir(), "y.tar")); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	crowded := map[string]int{}
	for i := range 4_001 {
		crowded[fmt.Sprintf("blobs/sha256/%064x", i)] = 0
	}
	r = runSoon(t, "label", "oci-archive:"+withEntries(t, original, crowded), "--config", config, "-o", filepath.Join(t.TempDir(), "z.tar"))
	if r.code != cli.ExitFailure || !strings.Contains(r.err, "more than 4000 files") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

// withEntries appends entries of the given sizes to an archive.
func withEntries(t *testing.T, archive string, sizes map[string]int) string {
	t.Helper()
	var more bytes.Buffer
	w := tar.NewWriter(&more)
	for name, size := range sizes {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(size), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	framework.NoError(t, w.Flush())
	result := filepath.Join(t.TempDir(), "more.tar")
	framework.WriteFile(t, result, append(more.Bytes(), read(t, archive)...))
	return result
}
