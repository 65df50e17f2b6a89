// SPDX-License-Identifier: Apache-2.0

package state

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLockRejectsForeignDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.tex"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Lock(t.Context(), dir, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "thesis.tex") {
		t.Errorf("got %v; want an error that names the file", err)
	}
}
