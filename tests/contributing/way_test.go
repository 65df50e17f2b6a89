// SPDX-License-Identifier: Apache-2.0

package contributing

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/cli/command"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

// ways are the headings of the page, each with what exists of its kind: found in more than one place, so that something new is found
// wherever its author began.
var ways = map[string]func(*testing.T, fs.FS) []string{
	"Add a release line":          releaseLines,
	"Add a provider type":         providerTypes,
	"Add a field of workload":     workloadFields,
	"Add a reason of a condition": reasons,
	"Add a verb of the plugin":    verbs,
}

func releaseLines(t *testing.T, checkout fs.FS) []string {
	t.Helper()
	lines := map[string]bool{}
	for _, line := range catalog.Lines() {
		lines[line] = true
	}
	for _, base := range glob(t, checkout, "distributions/starter/*.yaml") {
		lines[strings.TrimSuffix(path.Base(base), ".yaml")] = true
	}
	table, err := fs.ReadFile(checkout, "tests/server/releases.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for row := range strings.Lines(string(table)) {
		if line, _, ok := strings.Cut(row, "\t"); ok && !strings.HasPrefix(row, "#") {
			lines[line] = true
		}
	}
	return slices.Sorted(maps.Keys(lines))
}

// providerTypes are those of the APIs that the custom resource configures by type.
func providerTypes(t *testing.T, _ fs.FS) []string {
	t.Helper()
	types := map[string]bool{}
	for _, name := range catalog.Lines() {
		line, _ := catalog.Get(name)
		for _, api := range []string{"inference", "safety", "tool_runtime", "vector_io"} {
			for _, providerType := range line.ProviderTypes(api) {
				types[providerType] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(types))
}

func workloadFields(*testing.T, fs.FS) []string {
	var names []string
	for field := range reflect.TypeFor[v1alpha2.WorkloadSpec]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

func reasons(*testing.T, fs.FS) []string {
	var names []string
	for _, row := range problem.Rows() {
		names = append(names, string(row.Reason))
	}
	return names
}

// verbs are those that the plugin has, and the packages of internal/cli that look like one.
func verbs(t *testing.T, checkout fs.FS) []string {
	t.Helper()
	names := map[string]bool{}
	for _, verb := range cli.New(command.Streams{}).Commands() {
		name, _, _ := strings.Cut(verb.Name(), "-") // the package of downgrade-prepare is downgrade
		names[name] = true
	}
	for _, file := range glob(t, checkout, "internal/cli/*/command.go") {
		if name := path.Base(path.Dir(file)); name != "command" {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func glob(t *testing.T, checkout fs.FS, pattern string) []string {
	t.Helper()
	files, err := fs.Glob(checkout, pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	return files
}

func page(t *testing.T, checkout fs.FS) string {
	t.Helper()
	text, err := fs.ReadFile(checkout, "CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestContributingNamesWhatWasForgotten(t *testing.T) {
	checkout := os.DirFS(fixture.Root())
	for heading, items := range ways {
		t.Run(heading, func(t *testing.T) {
			files := steps(page(t, checkout), heading)
			if len(files) < 3 {
				t.Fatalf("CONTRIBUTING.md names %d files under %q", len(files), heading)
			}
			for _, item := range items(t, checkout) {
				missing, err := forgotten(checkout, files, item)
				if err != nil {
					t.Fatal(err)
				}
				for _, file := range missing {
					t.Errorf("%s: %s was forgotten: see %q in CONTRIBUTING.md", item, file, heading)
				}
			}
		})
	}
}

// Of something that nobody has added, every step is named but those that are directories for everything.
func TestEverythingOfSomethingNewIsMissing(t *testing.T) {
	checkout := os.DirFS(fixture.Root())
	for heading := range ways {
		var want []string
		for _, file := range steps(page(t, checkout), heading) {
			if !strings.HasSuffix(file, "/") || placeholder.MatchString(file) {
				want = append(want, file)
			}
		}
		for _, item := range []string{"9.99", "remote::nobody", "nobodysWish"} {
			got, err := forgotten(checkout, steps(page(t, checkout), heading), item)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: of %s are missing %q (%v), want %q", heading, item, got, err, want)
			}
		}
	}
}
