// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const testRef = "quay.io/example/operator:v1.2.3"

func TestArchive(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "deeper", "image.tar")
	printed := packImage(t, archive, source(t, 0o755, time.Now()))

	tag := mustTag(t, testRef)
	image, err := tarball.ImageFromPath(archive, &tag)
	if err != nil {
		t.Fatalf("the archive does not hold %s: %v", testRef, err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	wantConfig := v1.Config{
		Entrypoint: []string{"/manager"},
		Env:        []string{"PATH=/"},
		Labels:     map[string]string{"org.opencontainers.image.version": "1.2.3"},
		User:       "65532:65532",
		WorkingDir: "/",
	}
	if diff := cmp.Diff(wantConfig, config.Config); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	if got := config.Platform().String(); got != "linux/arm64" {
		t.Errorf("platform %s, want linux/arm64", got)
	}
	want := []string{
		"drwxr-xr-x etc 0:0 ",
		"-rw-r--r-- etc/group 0:0 root:x:0:\nnonroot:x:65532:\n",
		"-rw-r--r-- etc/passwd 0:0 root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n",
		"drwxr-xr-x licenses 0:0 ",
		"-rw-r--r-- licenses/LICENSE 0:0 terms",
		"-rwxr-xr-x manager 0:0 binary",
		"dtrwxrwxrwx tmp 0:0 ",
	}
	if diff := cmp.Diff(want, members(t, image)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if _, digest, _ := strings.Cut(strings.TrimSpace(printed), "@"); !strings.HasPrefix(digest, "sha256:") {
		t.Errorf("printed %q, want the reference with its digest", printed)
	}
}

// TestReproducible checks that file times and modes do not change the archive.
func TestReproducible(t *testing.T) {
	first, second := filepath.Join(t.TempDir(), "a.tar"), filepath.Join(t.TempDir(), "b.tar")
	printedFirst := packImage(t, first, source(t, 0o755, time.Now()))
	printedSecond := packImage(t, second, source(t, 0o700, time.Now().Add(-time.Hour)))
	if printedFirst != printedSecond {
		t.Errorf("digests differ: %s and %s", printedFirst, printedSecond)
	}
	if !bytes.Equal(mustRead(t, first), mustRead(t, second)) {
		t.Error("the archives differ")
	}
}

func TestPush(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	ref := strings.TrimPrefix(server.URL, "http://") + "/example/operator:dev"

	directory := source(t, 0o755, time.Now())
	var out bytes.Buffer
	args := []string{"--binary", filepath.Join(directory, "manager"), "--ref", ref, "--push"}
	if err := run(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	pulled, err := remote.Image(mustTag(t, ref))
	if err != nil {
		t.Fatalf("the registry does not have the image: %v", err)
	}
	digest, err := pulled.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if want := ref + "@" + digest.String() + "\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
	if got := members(t, pulled); !strings.Contains(strings.Join(got, "\n"), "-rwxr-xr-x manager 0:0 binary") {
		t.Errorf("the pushed image has %q", got)
	}
}

func TestRunRejectsInvalidInput(t *testing.T) {
	directory := source(t, 0o755, time.Now())
	binary := filepath.Join(directory, "manager")
	archive := filepath.Join(t.TempDir(), "image.tar")
	for _, test := range []struct {
		name, want string
		args       []string
	}{
		{"no content", "--binary or --root is required", []string{"--ref", testRef, "--output", archive}},
		{"no destination", "set --output, --push", []string{"--binary", binary, "--ref", testRef}},
		{"no tag", "--ref", []string{"--binary", binary, "--ref", "quay.io/example/operator", "--output", archive}},
		{"missing binary", "no such file", []string{"--binary", directory + "/absent", "--ref", testRef, "--output", archive}},
		{"directory", "not a regular file", []string{"--binary", directory, "--ref", testRef, "--output", archive}},
		{"named user", "numeric UID:GID", []string{"--binary", binary, "--ref", testRef, "--output", archive, "--user", "nonroot"}},
		{"relative path", "clean absolute path", []string{"--binary", binary, "--ref", testRef, "--output", archive, "--file", binary + ":etc/x"}},
		{"path with ..", "clean absolute path", []string{"--binary", binary, "--ref", testRef, "--output", archive, "--file", binary + ":/../x"}},
		{"duplicate path", "two files have this path", []string{"--binary", binary, "--ref", testRef, "--output", archive, "--file", binary + ":/etc/passwd"}},
		{"binary and root", "--binary or --root", []string{"--binary", binary, "--root", directory, "--ref", testRef, "--output", archive}},
		{"root without entrypoint", "--root needs --entrypoint", []string{"--root", directory, "--ref", testRef, "--output", archive}},
		{"file beside a root", "--file requires --binary", []string{"--root", directory, "--entrypoint", "/x", "--ref", testRef, "--output", archive, "--file", binary + ":/x"}},
		{"file over a directory", "is a directory", []string{"--binary", binary, "--ref", testRef, "--output", archive, "--file", binary + ":/etc"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := run(t.Context(), test.args, io.Discard)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
			if _, err := os.Stat(archive); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("an archive was written (%v)", err)
			}
		})
	}
}

// source creates a directory with a text file and a binary of the given mode and time.
func source(t *testing.T, mode os.FileMode, modified time.Time) string {
	t.Helper()
	directory := t.TempDir()
	for path, file := range map[string]struct {
		content string
		mode    os.FileMode
	}{"manager": {"binary", mode}, "LICENSE": {"terms", 0o600}} {
		path = filepath.Join(directory, path)
		if err := os.WriteFile(path, []byte(file.content), file.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, modified, modified); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

// packImage packs the files of the directory and returns the output.
func packImage(t *testing.T, archive, directory string) string {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), []string{
		"--binary", filepath.Join(directory, "manager"),
		"--file", filepath.Join(directory, "LICENSE") + ":/licenses/LICENSE",
		"--label", "org.opencontainers.image.version=1.2.3",
		"--platform", "linux/arm64",
		"--ref", testRef,
		"--output", archive,
	}, &out)
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// members lists the files of the image with mode, owner and content, and checks that they have no time.
func members(t *testing.T, image v1.Image) []string {
	t.Helper()
	files := mutate.Extract(image)
	defer func() { _ = files.Close() }()
	reader := tar.NewReader(files)
	var list []string
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		if !header.ModTime.Equal(time.Unix(0, 0)) {
			t.Errorf("%s has the time %s", header.Name, header.ModTime)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s %s %d:%d %s", header.FileInfo().Mode(), header.Name, header.Uid, header.Gid, content))
	}
}

func mustTag(t *testing.T, ref string) name.Tag {
	t.Helper()
	tag, err := name.NewTag(ref)
	if err != nil {
		t.Fatal(err)
	}
	return tag
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
