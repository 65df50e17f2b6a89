// SPDX-License-Identifier: Apache-2.0

package providerinstaller_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/providerinstaller"
)

// FuzzInstall installs arbitrary wheels of a provider image.
//
// Proves: R63, R46 (no panic; only regular files that the manifest lists, and none that Python runs at startup).
func FuzzInstall(f *testing.F) {
	for _, content := range []files{
		wheel("a", "1", files{"a/__init__.py": "", "a/provider.py": "x = 1\n", "a-1.data/purelib/b.py": "", "a-1.data/scripts/run": "#!"}),
		wheel("a", "1", files{"../escape": "x", "/etc/passwd": "x"}), wheel("a", "1", files{"link": "-> /etc/passwd", "sitecustomize.py": "x"}), {"a": "b"},
	} {
		raw, err := os.ReadFile(filepath.Join(source(f, content), "0.whl"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	f.Add([]byte("PK"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.whl"), raw, 0o600); err != nil {
			t.Fatal(err)
		}
		layout := prepared(t)
		m, err := layout.Install(&providerinstaller.Provider{ID: "mine", Source: dir})
		found, beside := 0, 0
		if err := filepath.WalkDir(string(layout), func(name string, e fs.DirEntry, err error) error {
			switch at, inside := strings.CutPrefix(name, layout.Packages()+string(filepath.Separator)); {
			case err != nil || e.IsDir():
			case !e.Type().IsRegular():
				t.Errorf("%s is not a regular file", name)
			case !inside:
				beside++ // the program and the manifest
			case strings.HasPrefix(at, "sitecustomize") || strings.HasPrefix(at, "usercustomize"):
				t.Errorf("Python runs %s", at)
			default:
				found++
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if err != nil {
			if m != nil || beside != 1 {
				t.Errorf("%v beside %v, %d files beside the packages", m, err, beside)
			}
			return
		}
		if len(m.Distributions) != 1 || len(m.Distributions[0].Files) != found || beside != 2 {
			t.Errorf("%d files are installed, %d beside them: %+v", found, beside, m)
		}
	})
}
