// SPDX-License-Identifier: Apache-2.0

package wheels

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"testing"
)

// A file is bounded by what is written, not by what the table of the archive says.
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
