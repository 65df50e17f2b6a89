// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

func TestCommandLines(t *testing.T) {
	dir, source := t.TempDir(), t.TempDir()
	if err := run([]string{"prepare", dir}, source, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"", "prepare", "install", "install " + dir, "install --provider a", "install --what a", "remove " + dir} {
		if err := run(strings.Fields(args), source, io.Discard); !errors.Is(err, errUsage) {
			t.Errorf("%q: %v", args, err)
		}
	}
	err := run([]string{"install", "--provider", "a", "--wheel", filepath.Join(source, "b.whl"), dir}, source, io.Discard)
	if err == nil || !strings.HasPrefix(err.Error(), "cannot install provider a: wheel ") {
		t.Error(err)
	}
}
