// SPDX-License-Identifier: Apache-2.0

package serverconfig_test

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// floors are the layers of the generator's packages, from the bottom up. A package may import only lower layers.
var floors = [][]string{
	{"catalog", "document"},
	{"parse"},
	{"address", "environment", "release"},
	{"storage"},
	{"provider"},
	{"server", "resource", "auth", "external"},
	{"disabled", "integrity"},
	{"lint", "migrate"},
	{"."},
}

// The test also prints the layers.
func TestEngineIsLayered(t *testing.T) {
	floorOf := map[string]int{}
	for floor, names := range floors {
		for _, name := range names {
			floorOf[name] = floor
		}
	}
	const root = "github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	found := 0
	for _, dir := range packageDirs(t) {
		floor, known := floorOf[dir]
		if !known {
			t.Errorf("package %s stands on no floor: add it to floors", dir)
			continue
		}
		found++
		var below []string
		for path := range importsOf(t, dir) {
			other, inside := strings.CutPrefix(path, root)
			if !inside {
				continue
			}
			other = strings.TrimPrefix(other, "/")
			if other == "" {
				other = "."
			}
			below = append(below, other)
			if floorOf[other] >= floor {
				t.Errorf("%s (floor %d) imports %s (floor %d): an arrow up", dir, floor, other, floorOf[other])
			}
		}
		slices.Sort(below)
		t.Logf("floor %d: %s -> %s", floor, dir, strings.Join(below, " "))
	}
	if found < len(floors) {
		t.Errorf("only %d packages are found", found)
	}
}

// packageDirs returns the directories with Go files, from this one (".") down.
func packageDirs(t *testing.T) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "testdata":
			return filepath.SkipDir
		case !entry.IsDir() && strings.HasSuffix(path, ".go") && !slices.Contains(dirs, filepath.Dir(path)):
			dirs = append(dirs, filepath.Dir(path))
		}
		return nil
	})
	framework.NoError(t, err)
	return dirs
}

// importsOf returns the imports of a package, without its tests.
func importsOf(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	framework.NoError(t, err)
	imports := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		framework.NoError(t, err)
		for _, spec := range parsed.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			framework.NoError(t, err)
			imports[path] = true
		}
	}
	return imports
}
