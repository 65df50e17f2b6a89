// SPDX-License-Identifier: Apache-2.0

package expect

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Update is the flag that writes golden files instead of comparing them.
var Update = flag.Bool("update", false, "write the golden files")

// File fails the test unless the file has this text.
func File(t *testing.T, file, got string) {
	t.Helper()
	if *Update {
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

// Messages are the messages of a test by case: the text of the problems that the case reported, or "".
type Messages map[string]string

// Check compares the messages with testdata/messages/<test>.txt. It does nothing while -run selects single cases.
func (m Messages) Check(t *testing.T) {
	t.Helper()
	if strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		return
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if m[name] != "" {
			fmt.Fprintf(&b, "== %s\n%s\n", name, strings.TrimSuffix(m[name], "\n"))
		}
	}
	File(t, filepath.Join("testdata", "messages", t.Name()+".txt"), b.String())
}
