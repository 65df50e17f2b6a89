// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Release lines with the same result share a file, whose name lists them.
func TestLinesShareAFile(t *testing.T) {
	for file, want := range map[string][]string{
		"want.0.7.changes.yaml":             {"0.7"},
		"dir/want.0.3+0.7+1.0.changes.yaml": {"0.3", "0.7", "1.0"},
		"want.1.10+1.11.findings":           {"1.10", "1.11"},
		"want.1.3.0.changes.yaml":           {"1.3.0"},
		"want.1.3+1.3.0+1.4.changes.yaml":   {"1.3", "1.3.0", "1.4"},
		"want.findings":                     nil,
		"want.0.changes.yaml":               nil,
		"cr.yaml":                           nil,
	} {
		if got := LinesOf(file); !slices.Equal(got, want) {
			t.Errorf("%s: lines %v, want %v", file, got, want)
		}
	}
	dir := t.TempDir()
	shared := ChangesFile(dir, "0.3", "1.10")
	if err := os.WriteFile(shared, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{"0.3": shared, "1.10": shared, "1.1": filepath.Join(dir, "want.1.1.changes.yaml")} {
		c := &Case{Server: line}
		if got, err := c.Expected(dir); err != nil || got != want {
			t.Errorf("line %s: %s, %v, want %s", line, got, err, want)
		}
	}
}
