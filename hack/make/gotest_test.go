// SPDX-License-Identifier: Apache-2.0

package make

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// suite is a module with three packages. Environment variables make its tests fail.
var suite = map[string]string{
	"go.mod": "module suite\n\ngo 1.26\n",
	"a/a_test.go": `package a

import (
	"os"
	"testing"
)

func TestStable(t *testing.T) {}

func TestOther(t *testing.T) {
	t.Run("a case", func(t *testing.T) {
		other := os.Getenv("OTHER")
		if other == "always" || other == "once" && os.Mkdir(os.Getenv("FIRST"), 0o700) == nil {
			t.Error("it fails")
		}
	})
}
`,
	"b/b_test.go": `package b

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv("MAIN") == "once" && os.Mkdir(os.Getenv("FIRST"), 0o700) == nil {
		code = 1
	}
	os.Exit(code)
}

func TestStable(t *testing.T) {}
`,
	"c/c_test.go": "package c\n\nfunc TestBroken(\n",
}

// A test that fails once is reported as flaky, and the run passes. Other failures stay failures.
func TestGotestRerunsFailedTests(t *testing.T) {
	gotestsum := filepath.Join(t.TempDir(), "gotestsum")
	build := exec.CommandContext(t.Context(), "go", "build", "-C", "../tools", "-o", gotestsum, "gotest.tools/gotestsum")
	build.Env = append(os.Environ(), "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir := t.TempDir()
	for name, text := range suite {
		path := filepath.Join(dir, name)
		framework.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		framework.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	for name, c := range map[string]struct {
		env, packages string
		fails         bool
		marks         []string // the printed lines that begin with flaky: or FAIL
	}{
		"nothing fails":         {env: "OTHER=never", packages: "./a ./b"},
		"a test fails once":     {env: "OTHER=once", packages: "./a ./b", marks: []string{"flaky: suite/a.TestOther/a_case"}},
		"a test always fails":   {env: "OTHER=always", packages: "./a ./b", fails: true},
		"a TestMain fails once": {env: "MAIN=once", packages: "./a ./b", fails: true, marks: []string{"FAIL suite/b: its TestMain failed"}},
		"it does not compile":   {env: "OTHER=never", packages: "./a ./c", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "./gotest.sh", dir, c.packages, "-count=1", "-vet=off")
			cmd.Env = append(os.Environ(), "RERUN="+gotestsum, "FIRST="+filepath.Join(t.TempDir(), "first"), c.env)
			out, err := cmd.CombinedOutput()
			if (err != nil) != c.fails {
				t.Errorf("%v\n%s", err, out)
			}
			var reported []string
			for line := range strings.Lines(string(out)) {
				if strings.HasPrefix(line, "flaky: ") || strings.HasPrefix(line, "FAIL suite") {
					reported = append(reported, strings.TrimSpace(line))
				}
			}
			if diff := cmp.Diff(c.marks, reported); diff != "" {
				t.Errorf("marks (-want +got):\n%s\n%s", diff, out)
			}
		})
	}
}
