// SPDX-License-Identifier: Apache-2.0

package providerinstaller

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The limit counts the written bytes, not the size in the archive's table.
func TestWriteStopsAtTheBound(t *testing.T) {
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	to, err := w.Create("zeros")
	if err == nil {
		_, err = to.Write(make([]byte, 1<<20))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if err != nil {
		t.Fatal(err)
	}
	into, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = into.Close() }()
	for most, want := range map[int64]error{1 << 20: nil, 1<<20 - 1: errTooLarge} {
		m := member{archive.File[0], "zeros"}
		if _, err := m.write(into, most); !errors.Is(err, want) {
			t.Errorf("at most %d: %v, want %v", most, err, want)
		}
	}
}

// The limit includes other providers' packages. The table of a wheel is limited before it is read.
//
// Proves: R7, R63.
func TestBoundsAreThoseOfAPod(t *testing.T) {
	dir := t.TempDir()
	layout := Layout(dir)
	program := filepath.Join(t.TempDir(), "program")
	if err := errors.Join(os.WriteFile(program, nil, 0o600), layout.Prepare(program)); err != nil {
		t.Fatal(err)
	}
	pack := func(files map[string]string) string {
		source := t.TempDir()
		var packed bytes.Buffer
		w := zip.NewWriter(&packed)
		for name, content := range files {
			to, err := w.CreateHeader(&zip.FileHeader{Name: name}) // without compression, many files are quick to write
			if err == nil {
				_, err = to.Write([]byte(content))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Close(), os.WriteFile(filepath.Join(source, "x.whl"), packed.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
		return source
	}
	const metadata = "x-1.dist-info/METADATA"
	small := pack(map[string]string{metadata: "Name: x\nVersion: 1\n"})
	for name, c := range map[string]struct {
		other  Distribution
		source string
		want   string
	}{
		"bytes": {Distribution{Files: map[string]string{"a": fmt.Sprintf("00000000-%d", maxBytes)}}, small, "more than 1900 MiB"},
		"table": {Distribution{}, pack(manyFiles(metadata)), "its file table has more than 32 MiB"},
	} {
		other := &Manifest{Provider: "other", Distributions: []Distribution{c.other}}
		if err := layout.record(other); err != nil {
			t.Fatal(err)
		}
		if _, err := layout.Install(&Provider{ID: "a", Source: c.source}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// manyFiles returns files whose names alone exceed the limit of a wheel's table.
func manyFiles(metadata string) map[string]string {
	files := map[string]string{metadata: "Name: x\nVersion: 1\n"}
	long := strings.Repeat("a", 60_000)
	for n := range tableBytes/len(long) + 1 {
		files[fmt.Sprint(n, long)] = ""
	}
	return files
}
