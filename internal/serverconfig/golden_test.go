// SPDX-License-Identifier: Apache-2.0

package serverconfig_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/tests/expect"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/golden"
)

// Each folder of testdata is a case: cr.yaml, base.yaml (default: the starter of the release line), and the results
// want.env, want.findings and the configuration, each absent if empty. The configuration is want.<line>.yaml if the
// case has its own base, otherwise want.<lines>.changes.yaml with the diff against the starter, shared by equal release
// lines: want.0.3+0.7.changes.yaml. A case runs on 0.7 and on each release line or release in the names of its files;
// want.<line>.env and want.<line>.findings override those without a release line. UPDATE_GOLDEN=1 writes the files.
//
// Proves: FR-003, FR-004, FR-005, FR-006, FR-007, FR-008, FR-009, FR-021, FR-022, FR-027, FR-028, FR-029, FR-030,
// FR-031, FR-032, FR-033, FR-034, FR-035, FR-040, FR-041, FR-042, FR-043, FR-044, FR-050, FR-050a, FR-050b, FR-051,
// FR-052, FR-053, FR-060, FR-075, EC-1, EC-4, EC-5, EC-6, US-3.1, US-3.2, US-3.3, US-4.1, US-4.2, US-4.3, R2, R3, R6,
// R9, R10, R11, R12, R13, R16, R23, R24, R25, R26, R31, R32, R33, R34, R35, R36, R37, R38, R39, R49, L-11, L-12, L-13,
// L-14, R99, R100, R108.
func TestGolden(t *testing.T) {
	for _, dir := range cases(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			changes := map[string]string{}
			for _, name := range goldenLines(t, dir) {
				c := readCase(t, dir, name)
				result, findings := serverconfig.Generate(t.Context(), c.Input)
				if (result == nil) != findings.HasErrors() {
					t.Fatalf("result %v with findings:\n%s", result, findings)
				}
				for _, p := range findings {
					if p.Path == "" || p.Reason == "" {
						t.Errorf("no path or no reason: %+v", p)
					}
				}
				compare(t, ofLine(dir, "want.findings", name), findingsText(findings))
				if result == nil {
					result = &serverconfig.Result{}
				}
				if c.OwnBase {
					compare(t, expected(t, c, dir), string(result.YAML))
				} else {
					changes[name] = wanted(t, c, result.YAML)
					compare(t, filepath.Join(dir, "want."+name+".yaml"), "")
				}
				compare(t, ofLine(dir, "want.env", name), envText(result.Env))
			}
			compareChanges(t, dir, changes)
		})
	}
}

// Each message has a path, a problem and a fix, and quotes no values that may be secret.
//
// Proves: FR-075, NFR-003, NFR-004, R7.
func TestProblemsAreActionable(t *testing.T) {
	seen, fields := map[problem.Reason]bool{}, ""
	for _, dir := range cases(t) {
		_, findings := serverconfig.Generate(t.Context(), input(t, dir, goldenLine))
		for _, f := range findings {
			seen[f.Reason] = true
			fields += fmt.Sprintf("%s %s\n", f.Reason, f.Path)
			if f.Path == "" || f.Body() == "" {
				t.Errorf("%s: incomplete problem %+v", dir, f)
			}
			if !strings.HasPrefix(f.Path, "spec.") && !strings.HasPrefix(f.Path, "config.yaml: ") {
				t.Errorf("%s: path %q is neither a field of the spec nor a place in config.yaml", dir, f.Path)
			}
			isElsewhere := !strings.Contains(f.Detail, "any release line") && !strings.HasPrefix(f.Path, "spec.disabled")
			if f.Reason == problem.UnsupportedByRelease && isElsewhere && !strings.Contains(f.Fix, "spec.distribution.version") {
				t.Errorf("%s: the message does not name the way to another release line: %s", dir, f)
			}
			if strings.Contains(f.String(), "hunter2") {
				t.Errorf("%s: a value got into the message: %s", dir, f)
			}
		}
	}
	for _, reason := range []problem.Reason{
		problem.InvalidField, problem.InvalidBaseConfig, problem.UnknownProvider, problem.UnknownProviderType,
		problem.UnsupportedByRelease, problem.DisabledAPI, problem.DeprecatedProviderType, problem.LiteralSecret, problem.UnknownField,
		problem.MissingField, problem.ConflictingFields, problem.BrokenReference,
	} {
		if !seen[reason] {
			t.Errorf("no case with a problem of reason %s", reason)
		}
	}
	for _, pattern := range []string{
		`InvalidBaseConfig config.yaml: version`, `InvalidField spec\.providers\.\w+\S*\.endpoint`, `MissingField spec\.resources\.models`,
		`MissingField spec\.resources\.tools`, `BrokenReference spec\.resources\.shields`,
	} {
		if !regexp.MustCompile(pattern).MatchString(fields) {
			t.Errorf("no case with a problem like %s", pattern)
		}
	}
}

// compareChanges compares the diffs with the files of a case, whose names have the release lines of their diff.
func compareChanges(t *testing.T, dir string, byLine map[string]string) {
	t.Helper()
	want := map[string]string{}
	for _, line := range slices.SortedFunc(maps.Keys(byLine), catalog.Compare) {
		text := byLine[line]
		if text == "" || slices.Contains(slices.Collect(maps.Values(want)), text) {
			continue
		}
		same := slices.DeleteFunc(slices.SortedFunc(maps.Keys(byLine), catalog.Compare), func(other string) bool { return byLine[other] != text })
		want[golden.ChangesFile(dir, same...)] = text
	}
	files, err := filepath.Glob(filepath.Join(dir, "want.*.changes.yaml"))
	framework.NoError(t, err)
	for _, file := range files {
		if _, ok := want[file]; !ok {
			want[file] = ""
		}
	}
	for file, text := range want {
		compare(t, file, text)
	}
}

func expected(t *testing.T, c *golden.Case, dir string) string {
	t.Helper()
	file, err := c.Expected(dir)
	framework.NoError(t, err)
	return file
}

func cases(tb testing.TB) []string {
	tb.Helper()
	paths, err := filepath.Glob("testdata/*/cr.yaml")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no cases: %v", err)
	}
	for i := range paths {
		paths[i] = filepath.Dir(paths[i])
	}
	return paths
}

// goldenLine is the release line for all cases.
const goldenLine = "0.7"

func goldenLines(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "want.*"))
	framework.NoError(t, err)
	names := []string{goldenLine}
	for _, file := range files {
		names = append(names, golden.LinesOf(file)...)
	}
	slices.SortFunc(names, catalog.Compare)
	return slices.Compact(names)
}

// ofLine returns the path of a release line's own file, or of the shared file if there is none.
func ofLine(dir, file, line string) string {
	own := filepath.Join(dir, strings.Replace(file, "want.", "want."+line+".", 1))
	if _, err := os.Stat(own); err == nil {
		return own
	}
	return filepath.Join(dir, file)
}

func input(tb testing.TB, dir, lineName string) serverconfig.Input {
	tb.Helper()
	return readCase(tb, dir, lineName).Input
}

func readCase(tb testing.TB, dir, lineName string) *golden.Case {
	tb.Helper()
	c, err := golden.Read(dir, lineName)
	framework.NoError(tb, err)
	return c
}

// wanted returns the diff of a configuration against its base, after checking that the diff is complete.
func wanted(t *testing.T, c *golden.Case, full []byte) string {
	t.Helper()
	if len(full) == 0 {
		return ""
	}
	difference, err := golden.Diff(c.Base, full)
	framework.NoError(t, err)
	text, err := difference.Encode("What becomes of the starter base.")
	framework.NoError(t, err)
	if err := golden.Check(c.Base, full, text); err != nil {
		t.Errorf("line %s: the difference loses something: %v\n%s", c.Input.Line.Name, err, text)
	}
	return string(text)
}

func parseBase(tb testing.TB, name string, data []byte) *document.Base {
	tb.Helper()
	base, err := document.ParseBase(name, data)
	framework.NoError(tb, err)
	return base
}

func read(tb testing.TB, path string) []byte {
	tb.Helper()
	data, err := os.ReadFile(path)
	framework.NoError(tb, err)
	return data
}

func compare(t *testing.T, path, got string) {
	t.Helper()
	if expect.Update {
		// An empty file overrides the shared file for its release line.
		if name := filepath.Base(path); got == "" && (strings.Count(name, ".") == 1 || strings.HasSuffix(name, ".yaml")) {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			return
		}
		framework.WriteFile(t, path, got)
		return
	}
	want, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func findingsText(problems problem.List) string {
	var b strings.Builder
	for _, p := range problems {
		fix := p.Fix
		p.Fix = ""
		fmt.Fprintf(&b, "%s %s\n  %s\n  %s\n  %s\n", p.Severity, p.Reason, p.Path, p.Body(), fix)
	}
	return b.String()
}

func envText(env []serverconfig.EnvVar) string {
	var b strings.Builder
	for _, e := range env {
		if e.FieldPath != "" {
			fmt.Fprintf(&b, "%s = %s of the pod (%s)\n", e.Name, e.FieldPath, e.Path)
			continue
		}
		if e.Ref.Name == "" {
			fmt.Fprintf(&b, "%s = %q (%s)\n", e.Name, e.Value, e.Path)
			continue
		}
		part := ""
		if e.Part != "" {
			part = string(e.Part) + " of "
		}
		fmt.Fprintf(&b, "%s = %sSecret %s, key %s (%s, type %q)\n", e.Name, part, e.Ref.Name, e.Ref.Key, e.Path, e.Type)
	}
	return b.String()
}
