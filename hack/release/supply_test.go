// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// locks is the directory of the versions and hashes of the Python packages that tests install.
var locks = filepath.Join(root, "tests", "server", "locks")

// workflow is the tested part of a GitHub workflow.
type workflow struct {
	Permissions map[string]string `json:"permissions"`
	Jobs        map[string]struct {
		Permissions map[string]string `json:"permissions"`
		Uses        string            `json:"uses"`
		Steps       []struct {
			Uses string         `json:"uses"`
			Run  string         `json:"run"`
			With map[string]any `json:"with"`
		} `json:"steps"`
	} `json:"jobs"`
}

func workflows(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range []string{".github/workflows/*.y*ml", ".github/actions/*/action.y*ml"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		framework.NoError(t, err)
		for _, file := range files {
			text := framework.ReadFile(t, file)
			texts[filepath.Base(file)] = string(text)
		}
	}
	if len(texts) == 0 {
		t.Fatal("there are no workflows")
	}
	return texts
}

// A tag of an action can move; a commit cannot.
func TestWorkflowsPinActionsByCommit(t *testing.T) {
	uses := regexp.MustCompile(`(?m)^[\s-]*["']?uses["']?\s*:.*$`)
	pinned := regexp.MustCompile(`^\s*(- )?uses: (\./\S+|[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$`)
	commits := map[string]string{}
	for name, text := range workflows(t) {
		for _, line := range uses.FindAllString(text, -1) {
			if !pinned.MatchString(line) {
				t.Errorf("%s: %q: pin the action as owner/name@<commit, 40 hex digits> # v1.2.3", name, strings.TrimSpace(line))
				continue
			}
			action, rest, _ := strings.Cut(line[strings.Index(line, "uses: ")+len("uses: "):], "@")
			if known := commits[action]; known != "" && known != rest {
				t.Errorf("%s: %s has two pins: %s and %s", name, action, known, rest)
			}
			commits[action] = rest
		}
		w := &workflow{}
		if err := yaml.Unmarshal([]byte(text), w); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		found := 0
		for _, job := range w.Jobs {
			if job.Uses != "" {
				found++
			}
			for _, step := range job.Steps {
				if step.Uses != "" {
					found++
				}
			}
		}
		if lines := len(uses.FindAllString(text, -1)); lines != found {
			t.Errorf("%s: %d actions in %d lines: write each in a line of its own", name, found, lines)
		}
	}
}

// The signing job runs no code of the repository or its dependencies. Other jobs have read permission only.
func TestWorkflowsHaveMinimalPermissions(t *testing.T) {
	signs := false
	for name, text := range workflows(t) {
		w := &workflow{}
		if err := yaml.Unmarshal([]byte(text), w); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if w.Permissions == nil || len(w.Permissions) > 0 {
			t.Errorf("%s: permissions %v: want none but those of each job", name, w.Permissions)
		}
		for id, job := range w.Jobs {
			permissions := job.Permissions
			if writes := slices.ContainsFunc([]string{"id-token", "attestations"}, func(p string) bool { return permissions[p] == "write" }); !writes {
				if fmt.Sprint(permissions) != "map[contents:read]" {
					t.Errorf("%s: job %s: permissions %v: want contents: read", name, id, permissions)
				}
				continue
			}
			signs = true
			if fmt.Sprint(permissions) != "map[attestations:write id-token:write]" {
				t.Errorf("%s: job %s: permissions %v", name, id, permissions)
			}
			for _, step := range job.Steps {
				if strings.HasPrefix(step.Uses, "actions/checkout@") || regexp.MustCompile(`\b(make|go|npm|pip)\b`).MatchString(step.Run) {
					t.Errorf("%s: job %s can sign, and runs %s%s", name, id, step.Uses, step.Run)
				}
			}
		}
		for id, job := range w.Jobs {
			for _, step := range job.Steps {
				if strings.HasPrefix(step.Uses, "actions/checkout@") && step.With["persist-credentials"] != false {
					t.Errorf("%s: job %s leaves the token in the checkout: set persist-credentials: false", name, id)
				}
			}
		}
	}
	if !signs {
		t.Error("no workflow signs")
	}
}

// eachFile calls f for each file of the repository whose base name matches the pattern.
func eachFile(t *testing.T, pattern string, f func(name, text string)) {
	t.Helper()
	found := 0
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains([]string{".git", "bin", "node_modules"}, path) {
				return fs.SkipDir
			}
			return nil
		}
		if ok, err := filepath.Match(pattern, entry.Name()); !ok || err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		found++
		f(path, string(text))
		return err
	})
	if err != nil || found == 0 {
		t.Fatalf("%s: %d files, %v", pattern, found, err)
	}
}

func TestPythonPackagesAreLockedByHash(t *testing.T) {
	install := regexp.MustCompile(`(?m)^[^#\n]*\bpip install((?:[^\n]*\\\n)*[^\n]*)`)
	eachFile(t, "*.sh", func(name, text string) {
		for _, command := range install.FindAllString(text, -1) {
			if !strings.Contains(command, "--require-hashes") {
				t.Errorf("%s installs without hashes: %s", name, strings.TrimSpace(command))
			}
		}
	})
	files, err := filepath.Glob(filepath.Join(locks, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d locks, %v", len(files), err)
	}
	hash := regexp.MustCompile(`--hash=sha256:[0-9a-f]{64}\b`)
	requirement := regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*==\S+`)
	for _, file := range append(files, filepath.Join(root, "hack", "site", "requirements.txt")) {
		text := framework.ReadFile(t, file)
		for entry := range strings.SplitSeq(strings.ReplaceAll(strings.TrimSpace(string(text)), "\\\n", ""), "\n") {
			if !requirement.MatchString(entry) || !hash.MatchString(entry) {
				t.Errorf("%s: neither a version nor a hash: %.80s", file, entry)
			}
		}
	}
}

func TestEachReleaseOfTheServerIsLocked(t *testing.T) {
	table := framework.ReadFile(t, filepath.Join(root, "tests", "server", "releases.tsv"))
	for row := range strings.Lines(string(table)) {
		if strings.HasPrefix(row, "#") {
			continue
		}
		fields := strings.Split(strings.TrimRight(row, "\n"), "\t")
		server, version := fields[1], fields[2]
		want := map[string][]string{
			server + "-" + version:              {server + "==" + version},
			"clients-" + server + "-" + version: {server + "-client==" + version, "openai=="},
		}
		for constraint := range strings.FieldsSeq(fields[4]) {
			if strings.Contains(constraint, "==") {
				want[server+"-"+version] = append(want[server+"-"+version], constraint)
			}
		}
		for name, requirements := range want {
			lock, err := os.ReadFile(filepath.Join(locks, name+".txt"))
			if err != nil {
				t.Errorf("%v: run tests/server/lock.sh %s", err, version)
				continue
			}
			for _, requirement := range requirements {
				if !strings.Contains("\n"+string(lock), "\n"+requirement) {
					t.Errorf("%s.txt does not have %s: run tests/server/lock.sh %s", name, requirement, version)
				}
			}
		}
	}
}

// The lock of an older patch release has only its own packages; the others are in the lock of its release line.
func TestEachPatchReleaseIsLocked(t *testing.T) {
	table := framework.ReadFile(t, filepath.Join(root, "tests", "server", "patches.tsv"))
	for row := range strings.Lines(string(table)) {
		if strings.HasPrefix(row, "#") {
			continue
		}
		for _, version := range strings.Fields(row)[1:] {
			files, err := filepath.Glob(filepath.Join(locks, "*-"+version+".txt"))
			framework.NoError(t, err)
			found := false
			for _, file := range files {
				lock := framework.ReadFile(t, file)
				server := strings.TrimSuffix(filepath.Base(file), "-"+version+".txt")
				found = found || strings.Contains("\n"+string(lock), "\n"+server+"=="+version+" ")
			}
			if !found {
				t.Errorf("release %s has no lock: run tests/server/lock.sh %s", version, version)
			}
		}
	}
}

// go install and go run with a version bypass the repository's go.sum.
func TestGoModulesAreLockedByHash(t *testing.T) {
	unlocked := regexp.MustCompile(`(?m)^[^#\n]*\bgo (install|run)\b[^\n]*@`)
	for _, pattern := range []string{"*.sh", "Makefile", "*.mk", "run"} {
		eachFile(t, pattern, func(name, text string) {
			if command := unlocked.FindString(text); command != "" {
				t.Errorf("%s: %s: add a module with the tool, and build it there", name, strings.TrimSpace(command))
			}
		})
	}
	eachFile(t, "go.mod", func(name, text string) {
		if _, err := os.Stat(filepath.Join(root, filepath.Dir(name), "go.sum")); err != nil && strings.Contains(text, "require") {
			t.Error(err)
		}
	})
}

// npm ci verifies a package only if the lock has its hash.
func TestNodePackagesAreLockedByHash(t *testing.T) {
	integrity := regexp.MustCompile(`^sha512-[A-Za-z0-9+/]+=*$`)
	eachFile(t, "package-lock.json", func(name, text string) {
		var lock struct {
			Packages map[string]struct {
				Integrity string `json:"integrity"`
			} `json:"packages"`
		}
		if err := json.Unmarshal([]byte(text), &lock); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for path, p := range lock.Packages {
			if path != "" && !integrity.MatchString(p.Integrity) {
				t.Errorf("%s: %s has no hash: %q", name, path, p.Integrity)
			}
		}
	})
	eachFile(t, "*.sh", func(name, text string) {
		if regexp.MustCompile(`(?m)^[^#\n]*\bnpm (i|install|add|update|exec)\b|\bnpx `).MatchString(text) {
			t.Errorf("%s installs packages of Node without the lock: use npm ci", name)
		}
	})
}
