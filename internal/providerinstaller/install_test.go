// SPDX-License-Identifier: Apache-2.0

package providerinstaller_test

import (
	"archive/zip"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/internal/providerinstaller"
)

// files maps the paths in a wheel or a directory to their content.
type files map[string]string

// wheel returns the files of a wheel for a distribution.
func wheel(name, version string, content files) files {
	all := files{fmt.Sprintf("%s-%s.dist-info/METADATA", name, version): "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n\nVersion: of the text\n"}
	maps.Copy(all, content)
	return all
}

// source returns the directory of an image with the wheels.
func source(t testing.TB, list ...files) string {
	t.Helper()
	dir := t.TempDir()
	for n, content := range list {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d.whl", n)))
		if err != nil {
			t.Fatal(err)
		}
		w := zip.NewWriter(f)
		for _, name := range slices.Sorted(maps.Keys(content)) {
			header := &zip.FileHeader{Name: name, Method: zip.Deflate}
			header.SetMode(0o644)
			if target, link := strings.CutPrefix(content[name], "-> "); link {
				content[name] = target
				header.SetMode(fs.ModeSymlink | 0o777)
			}
			to, err := w.CreateHeader(header)
			if err == nil {
				_, err = to.Write([]byte(content[name]))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// prepared returns the layout of a pod after its first init container.
func prepared(t testing.TB) providerinstaller.Layout {
	t.Helper()
	layout := providerinstaller.Layout(t.TempDir())
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := layout.Prepare(program); err != nil {
		t.Fatal(err)
	}
	return layout
}

func installed(t *testing.T, layout providerinstaller.Layout) files {
	t.Helper()
	found := files{}
	root := os.DirFS(layout.Packages())
	err := fs.WalkDir(root, ".", func(at string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !strings.Contains(at, ".dist-info/") {
			var content []byte
			content, err = fs.ReadFile(root, at)
			found[at] = string(content)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Proves: R46 (files that several providers share are installed once, and a repeated run has the same result).
func TestInstallUnpacksTheWheelsOfAllProviders(t *testing.T) {
	layout := prepared(t)
	shared := wheel("My.Client", "2.0", files{"my_client.py": "client"})
	one := source(t, wheel("one", "1.0", files{
		"one/__init__.py": "", "one/provider.py": "one", "one-1.0.data/purelib/pure.py": "pure", "one-1.0.data/platlib/native.so": "native",
		"one-1.0.data/scripts/run": "left out", "space/shared/__init__.py": "same",
	}), shared)
	two := source(t, wheel("two", "1.0", files{"two/provider.py": "two", "space/shared/__init__.py": "same", "space/two.py": "2"}), shared)
	want := files{
		"one/__init__.py": "", "one/provider.py": "one", "pure.py": "pure", "native.so": "native", "my_client.py": "client",
		"two/provider.py": "two", "space/shared/__init__.py": "same", "space/two.py": "2",
	}
	for run := range 2 {
		if err := os.WriteFile(filepath.Join(layout.Packages(), "pure.py"), []byte("a longer text of an interrupted run"), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := layout.Install(&providerinstaller.Provider{ID: "a-one", Source: one, Module: "one"})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for i := range m.Distributions {
			names = append(names, m.Distributions[i].Name+" "+m.Distributions[i].Version)
		}
		if diff := cmp.Diff([]string{"one 1.0", "My.Client 2.0"}, names); diff != "" {
			t.Error(diff)
		}
		if m, err := layout.Install(&providerinstaller.Provider{ID: "b-two", Source: two, Wheels: []string{filepath.Join(two, "0.whl")}}); err != nil || len(m.Distributions) != 1 {
			t.Fatalf("run %d: %+v, %v; want the distribution that is not there yet", run, m, err)
		}
		if diff := cmp.Diff(want, installed(t, layout)); diff != "" {
			t.Errorf("run %d (-want +got):\n%s", run, diff)
		}
	}
}

// Proves: R46 (the error names the wheel; no file is outside of the directory, and none runs at startup).
func TestInstallReportsRejectedPackages(t *testing.T) {
	info := wheel("x", "1", nil)
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "x.whl"), []byte("no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	waits := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(waits, "x.whl"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		from  string
		named []string
		says  string
	}{
		"a pipe":                       {waits, nil, "x.whl: it is not a wheel: it is not a regular file"},
		"a long path":                  {source(t, wheel("x", "1", files{strings.Repeat("a/", 30_000) + "b": ""})), nil, "has more than 1024 bytes"},
		"a long directory of metadata": {source(t, wheel(strings.Repeat("x", 30_000), "1", wheel("y", "1", nil))), nil, "two metadata directories"},
		"a name of two lines":          {source(t, files{"x-1.dist-info/METADATA": "Name: x\x1b[2J\nVersion: 1\n"}), nil, `METADATA has no valid Name and Version: "x\x1b[2J" "1"`},
		"a long version":               {source(t, files{"x-1.dist-info/METADATA": "Name: x\nVersion: 1" + strings.Repeat("0", 1<<20) + "\n"}), nil, "METADATA has no valid Name and Version"},
		"a bomb of metadata":           {source(t, files{"x-1.dist-info/METADATA": strings.Repeat("a", 64<<20)}), nil, "it is not a wheel"},
		"no directory":                 {filepath.Join(broken, "none"), nil, "its image has no directory"},
		"no wheels":                    {t.TempDir(), nil, "its image has no wheels in"},
		"a wheel of the spec":          {source(t, info), []string{"/lls-provider/packages/y.whl"}, "y.whl: the spec of the provider requires it, but the image does not contain it"},
		"not a zip":                    {broken, nil, "it is not a wheel"},
		"no metadata":                  {source(t, files{"a.py": ""}), nil, "it has no metadata directory"},
		"two sets of metadata":         {source(t, wheel("x", "1", wheel("y", "1", nil))), nil, "two metadata directories"},
		"no name":                      {source(t, files{"x-1.dist-info/METADATA": "Version: 1\n"}), nil, "METADATA has no valid Name"},
		"out of it":                    {source(t, wheel("x", "1", files{"../../etc/passwd": "x"})), nil, `the path "../../etc/passwd" is outside the packages directory`},
		"from the root":                {source(t, wheel("x", "1", files{"/etc/passwd": "x"})), nil, `the path "/etc/passwd" is outside`},
		"out of its data":              {source(t, wheel("x", "1", files{"x-1.data/purelib/../../y": "x"})), nil, "is outside the packages directory"},
		"a link":                       {source(t, wheel("x", "1", files{"a": "-> /etc"})), nil, "a is not a regular file"},
		"runs by itself":               {source(t, wheel("x", "1", files{"sitecustomize.py": "import os"})), nil, "would run at each start of Python"},
		"two versions":                 {source(t, wheel("old", "2.0", nil)), nil, "dependency conflict: it is old 2.0, and there is old 1.0 of provider first"},
		"two builds":                   {source(t, wheel("old", "1.0", files{"old.py": "other"})), nil, "dependency conflict: it is another build of old 1.0 of provider first"},
		"two files":                    {source(t, wheel("x", "1", files{"old.py": "other"})), nil, "its file old.py differs from that of old 1.0 of provider first"},
		"a file as a directory":        {source(t, wheel("x", "1", files{"old.py/x.py": ""})), nil, "it has the file old.py/x.py, and old 1.0 of provider first has the file old.py"},
	} {
		t.Run(name, func(t *testing.T) {
			layout := prepared(t)
			if _, err := layout.Install(&providerinstaller.Provider{ID: "first", Source: source(t, wheel("old", "1.0", files{"old.py": "old"}))}); err != nil {
				t.Fatal(err)
			}
			_, err := layout.Install(&providerinstaller.Provider{ID: "second", Source: c.from, Wheels: c.named})
			if err == nil || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 500 {
				t.Errorf("%v, want %q", err, c.says)
			}
			if diff := cmp.Diff(files{"old.py": "old"}, installed(t, layout)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Proves: R46 (a package without the module that the server loads is an error before the server starts).
func TestInstallDetectsServerModule(t *testing.T) {
	from := source(t, wheel("one", "1.0", files{"one/provider.py": "", "two/provider/__init__.py": "", "three/four/provider.cpython-312.so": "", "five/providers.txt": ""}))
	for module, want := range map[string]bool{"one": true, "two": true, "three.four": true, "three": false, "five": false, "": true} {
		_, err := prepared(t).Install(&providerinstaller.Provider{ID: "x", Source: from, Module: module})
		if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "no module "+module+".provider") {
			t.Errorf("module %q: %v", module, err)
		}
	}
}

func TestPrepareRemovesFormerFiles(t *testing.T) {
	layout := prepared(t)
	if _, err := layout.Install(&providerinstaller.Provider{ID: "first", Source: source(t, wheel("old", "1.0", files{"old.py": "old"}))}); err != nil {
		t.Fatal(err)
	}
	if err := layout.Prepare(layout.Program()); err == nil {
		t.Error("the program was copied from what is emptied")
	}
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("newer"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := layout.Prepare(program); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(layout.Program()); err != nil || string(got) != "newer" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := layout.Install(&providerinstaller.Provider{ID: "second", Source: source(t, wheel("old", "2.0", files{"new.py": "new"}))}); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(files{"new.py": "new"}, installed(t, layout)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
