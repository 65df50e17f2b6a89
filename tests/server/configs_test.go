// SPDX-License-Identifier: Apache-2.0

package server

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/lint"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/migrate"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R88 (the checks of a config.yaml agree with the server's own classes on each release line).
func TestLintAgreesWithTheServer(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/configs/*.yaml")
	framework.NoError(t, err)
	if len(files) < 60 {
		t.Fatalf("%d files", len(files))
	}
	given := givenInCorpus(t)
	packaged := map[string][]byte{}
	if os.Getenv(everywhere) != "" {
		for _, r := range releases(t) {
			for name, text := range packagedBases(t, r) {
				packaged[r.version+" "+name] = text
			}
		}
	}
	forEachRelease(t, func(t *testing.T, r release) {
		if !r.newest {
			return
		}
		dir, files := t.TempDir(), slices.Clone(files)
		for name, text := range packaged {
			files = append(files, filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".yaml"))
			framework.WriteFile(t, files[len(files)-1], text)
		}
		framework.WriteFile(t, filepath.Join(dir, "env"), framework.ReadFile(t, "testdata/configs/env"))
		for _, v := range validate(t, r, append([]string{"--libyaml"}, files...)...) {
			compareFindings(t, v.Config, v, lint.Check(t.Context(), &lint.Input{
				Content: framework.ReadFile(t, v.Config), Line: lineOf(t, r), Release: r.version, Variables: given,
			}))
		}
	})
}

// givenInCorpus returns the environment variables that the files of testdata/configs are checked with.
func givenInCorpus(t *testing.T) document.Variables {
	t.Helper()
	given := document.Variables{"HOME": true, "PATH": true}
	for line := range strings.Lines(string(framework.ReadFile(t, "testdata/configs/env"))) {
		name, _, _ := strings.Cut(line, "=")
		given[name] = true
	}
	return given
}

// migratedTo are the release lines to which all configurations are migrated, unless everywhere is set.
var migratedTo = []string{"0.3", "0.7", "1.0", "1.5"}

// Proves: R88 (the server takes migrated configurations without findings, and refuses those with a finding).
func TestLintAgreesOnMigratedConfigurations(t *testing.T) {
	t.Parallel()
	var files []string
	for _, pattern := range []string{"testdata/configs/*.yaml", "../../distributions/*/*.yaml",
		"../../internal/serverconfig/migrate/testdata/*.yaml"} {
		found, err := filepath.Glob(pattern)
		framework.NoError(t, err)
		if len(found) < 4 {
			t.Fatalf("%s: %d files", pattern, len(found))
		}
		files = append(files, found...)
	}
	given := givenInCorpus(t)
	forEachRelease(t, func(t *testing.T, r release) {
		if !r.newest || os.Getenv(everywhere) == "" && !slices.Contains(migratedTo, r.line) {
			return
		}
		dir := t.TempDir()
		framework.WriteFile(t, filepath.Join(dir, "env"), framework.ReadFile(t, "testdata/configs/env"))
		var results []string
		for _, file := range files {
			result, _, err := migrate.Rewrite(framework.ReadFile(t, file), lineOf(t, r))
			if err != nil {
				continue // no configuration: see TestLintAgreesWithTheServer
			}
			name := filepath.Base(filepath.Dir(file)) + "-" + filepath.Base(file)
			results = append(results, filepath.Join(dir, name))
			framework.WriteFile(t, results[len(results)-1], result)
		}
		for _, v := range validate(t, r, append([]string{"--libyaml"}, results...)...) {
			compareFindings(t, v.Config, v, lint.Check(t.Context(), &lint.Input{
				Content: framework.ReadFile(t, v.Config), Line: lineOf(t, r), Release: r.version, Variables: given,
			}))
		}
	})
}

// compareFindings compares the findings on a file with those of the server's classes: whether the server refuses it, and
// each path that it ignores.
func compareFindings(t *testing.T, file string, server verdict, own []lint.Finding) {
	t.Helper()
	refused, said := map[string]bool{}, map[string]bool{}
	ignored := map[string]bool{}
	var tree any
	_ = yaml.Unmarshal(framework.ReadFile(t, file), &tree)
	for _, f := range own {
		switch f.Effect {
		case lint.Refused:
			refused[f.At("")+": "+f.Detail] = true
		case lint.Ignored:
			ignored[pathByIDs(tree, f.Path)] = true
		case lint.Exposed, lint.Shared: // the server takes it
		}
	}
	ignoredByServer := map[string]bool{}
	for _, f := range server.Findings {
		if f.Kind == "failure" {
			said[f.String()] = true
		} else {
			ignoredByServer[f.Path] = true
		}
	}
	name := filepath.Base(filepath.Dir(file)) + "/" + strings.TrimSuffix(filepath.Base(file), ".yaml")
	if (len(said) > 0) != (len(refused) > 0) {
		t.Errorf("%s: the server refuses %q, lint %q", name, keys(said), keys(refused))
	}
	if diff := cmp.Diff(keys(ignoredByServer), keys(ignored)); diff != "" && len(said) == 0 {
		t.Errorf("%s: ignored by the server %q, by lint %q", name, keys(ignoredByServer), keys(ignored))
	}
}

func keys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

// pathStep matches a key or an index.
var pathStep = regexp.MustCompile(`[^.\[\]]+|\[\d+\]`)

// pathByIDs returns a path with the ids of the entries of lists, as the findings of the Python scripts have them.
func pathByIDs(tree any, path string) string {
	var b strings.Builder
	for _, step := range pathStep.FindAllString(path, -1) {
		if i, err := strconv.Atoi(strings.Trim(step, "[]")); err == nil && step[0] == '[' {
			list, _ := tree.([]any)
			tree = nil
			if i < len(list) {
				tree = list[i]
			}
			entry, _ := tree.(map[string]any)
			for _, key := range []string{"model_id", "shield_id", "vector_store_id", "dataset_id", "scoring_fn_id", "benchmark_id",
				"toolgroup_id", "connector_id", "provider_id"} {
				if id, ok := entry[key].(string); ok && id != "" {
					step = "[" + id + "]"
					break
				}
			}
			if b.String() != "apis" {
				b.WriteString(step)
			}
			continue
		}
		if b.Len() > 0 {
			b.WriteString(".")
		}
		b.WriteString(step)
		m, _ := tree.(map[string]any)
		tree = m[step]
	}
	return b.String()
}
