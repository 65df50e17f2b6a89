// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/lint"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/migrate"
)

// faulty are the files of the corpus with faults that have nothing to do with release lines.
var faulty = strings.Fields(`access-policy-wrong agents api-without-provider auth-unknown-type auth-without-endpoint
	azure-without-address backend-without-type bool-wrong default-embedding-is-missing default-provider-is-missing
	default-shield-is-missing embedding-without-dimension inline-for-remote list-by-text model-of-no-provider
	model-of-unknown-type model-without-id no-provider-id no-provider-type no-providers not-a-map null-by-empty-default
	number-as-key port-is-no-number port-out-of-range postgres-without-user provider-on-no-backend providers-as-map
	providers-of-an-unknown-api responses shield-of-no-provider sqlite-without-path store-of-no-backend
	store-of-the-other-kind tool-group-of-no-provider type-without-prefix unknown-api unknown-backend-type unknown-type
	vllm-wrong-number`)

// corpus returns the files of tests/server, the packaged configurations and those of this package, by name.
func corpus(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, pattern := range []string{"../../../tests/server/testdata/configs/*.yaml", "../../../distributions/*/*.yaml",
		"testdata/*.yaml"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) < 4 {
			t.Fatalf("%s: %d files, %v", pattern, len(names), err)
		}
		for _, name := range names {
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.Base(filepath.Dir(name))+"/"+strings.TrimSuffix(filepath.Base(name), ".yaml")] = content
		}
	}
	return files
}

func check(t *testing.T, line *catalog.Line, content []byte) []lint.Finding {
	t.Helper()
	return lint.Check(t.Context(), &lint.Input{Content: content, Line: line})
}

// Proves: R88 (the server takes the result, unless a change says what the user must replace).
func TestRewriteLeavesNothingThatTheServerRefuses(t *testing.T) {
	files := corpus(t)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, lineName := range []string{"0.3", "0.7", "1.0", "1.5"} {
			line := lineOf(t, lineName)
			result, changes, err := migrate.Rewrite(files[name], line)
			if err != nil {
				if !slices.Contains(faulty, filepath.Base(name)) {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			again, more, err := migrate.Rewrite(result, line)
			if err != nil || !bytes.Equal(again, result) {
				t.Errorf("%s: the result for %s changes again: %v, %+v", name, lineName, err, more)
			}
			if len(check(t, line, files[name])) == 0 && !bytes.Equal(result, files[name]) {
				t.Errorf("%s: suits %s and changes: %+v", name, lineName, changes)
			}
			for _, f := range check(t, line, result) {
				if f.Effect == lint.Refused && !slices.Contains(faulty, filepath.Base(name)) && !isKept(changes, f.Path) {
					t.Errorf("%s: %s refuses %s: %s", name, lineName, f.At("the result"), f.Detail)
				}
			}
		}
	}
}

// isKept reports whether a change says that the user must replace a part.
func isKept(changes []migrate.Change, path string) bool {
	return slices.ContainsFunc(changes, func(c migrate.Change) bool {
		return c.Action == migrate.Kept && strings.HasPrefix(path, c.Path[:max(strings.LastIndex(c.Path, "."), 0)])
	})
}

// A file that suits the release line stays as it is.
func TestRewriteKeepsPackagedConfigurations(t *testing.T) {
	for _, distribution := range []string{"starter", "remote-vllm", "postgres-demo", "meta-reference-gpu"} {
		for _, name := range catalog.Lines() {
			base, ok := distributions.Base(distribution, name)
			if !ok {
				continue
			}
			if lineOf(t, name).NeedsInsecure { // which the operator adds
				base = bytes.Replace(base, []byte("\nserver:\n"), []byte("\nserver:\n  insecure: true\n"), 1)
			}
			if result, changes, err := migrate.Rewrite(base, lineOf(t, name)); err != nil || !bytes.Equal(result, base) {
				t.Errorf("%s %s: %v, %+v", distribution, name, err, changes)
			}
		}
	}
}
