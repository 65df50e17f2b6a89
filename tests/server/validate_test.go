// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const (
	// venvTimeout bounds building the virtual environment: seconds with a warm package cache, minutes without.
	venvTimeout = 15 * time.Minute
	// scriptTimeout bounds one run of a script in it.
	scriptTimeout = 5 * time.Minute
)

// verdict is what the validation reports about one file.
type verdict struct {
	Config      string    `json:"config"`
	Providers   []string  `json:"providers"`
	SwitchedOff int       `json:"switched_off"`
	Findings    []finding `json:"findings"`
	// Loaded is what the server made of each provider's config, by api/id, and of server.auth; only with --loaded.
	Loaded map[string]map[string]any `json:"loaded"`
}

type finding struct {
	Kind    string `json:"kind"`
	Path    string `json:"path"`
	Message string `json:"message"`
}

func (f finding) String() string {
	return fmt.Sprintf("%s  %s: %s", f.Kind, f.Path, f.Message)
}

// pythons are the Pythons of the releases that were asked for, by version.
var pythons sync.Map

// findPython returns the Python of a release, from the environment or from venv.sh, which builds what is not there.
func findPython(r release) (string, error) {
	find, _ := pythons.LoadOrStore(r.version, sync.OnceValues(func() (string, error) {
		for _, name := range []string{r.version, r.line} {
			python := os.Getenv("LLSD_SERVER_PYTHON_" + strings.ReplaceAll(name, ".", "_"))
			if python != "" && (name == r.version || r.newest) {
				return python, nil
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), venvTimeout)
		defer cancel()
		var log bytes.Buffer
		command := exec.CommandContext(ctx, "./venv.sh", r.version)
		command.Stderr = &log
		out, err := command.Output()
		if err != nil {
			return "", fmt.Errorf("./venv.sh %s: %w\n%s", r.version, err, &log)
		}
		return strings.TrimSpace(string(out)), nil
	}))
	return find.(func() (string, error))()
}

// readScripts opens what the Go code does not, so that "go test" knows of it and never takes a former result for one of new scripts.
var readScripts = sync.OnceValue(func() error {
	for _, pattern := range []string{"*.py", "*.sh", "*.tsv"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, file := range files {
			if _, err := os.ReadFile(file); err != nil {
				return err
			}
		}
	}
	return nil
})

// serverPython returns the Python of the virtual environment that holds a release of the server.
func serverPython(t *testing.T, r release) string {
	t.Helper()
	framework.NoError(t, readScripts())
	python, err := findPython(r)
	if err != nil {
		t.Fatalf("no virtual environment with the real server (LLSD_SERVER_PYTHON_%s may name one): %v",
			strings.ReplaceAll(r.version, ".", "_"), err)
	}
	return python
}

// runScript runs one of this folder's scripts with a release and returns its output; a script that found something is not an error.
func runScript(t *testing.T, r release, script string, args ...string) (output []byte, found bool) {
	t.Helper()
	output, status, complaints := forkServerOf(t, r).run(t, nil, script, args...)
	if status != 0 && (status != 1 || len(output) == 0) {
		t.Fatalf("%s %s: status %d\n%s", script, strings.Join(args, " "), status, complaints)
	}
	return output, status == 1
}

// pythonEnv is the environment for a Python that runs a script of this folder. Byte code goes beside the virtual environment:
// nothing of it in the checkout, and the next run imports the server twice as fast.
func pythonEnv(python string) []string {
	return append(slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "PYTHONDONTWRITEBYTECODE=") || strings.HasPrefix(variable, "PYTHONPATH=")
	}), "PYTHONPATH="+tinyPackages(), "PYTHONPYCACHEPREFIX="+filepath.Join(filepath.Dir(filepath.Dir(python)), "pycache"))
}

// validate returns one verdict per config, in the order of the arguments that are files.
func validate(t *testing.T, r release, args ...string) []verdict {
	t.Helper()
	out, found := runScript(t, r, "validate.py", append([]string{"--json"}, args...)...)
	var report struct{ Verdicts []verdict }
	framework.NoError(t, json.Unmarshal(out, &report))
	something := false
	for _, v := range report.Verdicts {
		something = something || len(v.Findings) > 0
	}
	if something != found {
		t.Errorf("validate.py's exit status and its findings contradict each other")
	}
	return report.Verdicts
}
