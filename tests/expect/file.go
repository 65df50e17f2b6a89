// SPDX-License-Identifier: Apache-2.0

package expect

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Update reports whether UPDATE_GOLDEN is set, which writes golden files instead of comparing them.
var Update = os.Getenv("UPDATE_GOLDEN") != ""

// File fails the test unless the file has this text.
func File(t *testing.T, file, got string) {
	t.Helper()
	if Update {
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
