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
	// venvTimeout is enough without a package cache; with one, it takes seconds.
	venvTimeout   = 15 * time.Minute
	scriptTimeout = 5 * time.Minute
)

// verdict is the result of validate.py for one file.
type verdict struct {
	Config      string    `json:"config"`
	Providers   []string  `json:"providers"`
	SwitchedOff int       `json:"switched_off"`
	Findings    []finding `json:"findings"`
	// Loaded is what the server loaded from each provider's config, by API/ID, and from server.auth; only with --loaded.
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

// pythons has a function for each release in use, by version, which finds its Python once.
var pythons sync.Map

// findPython returns the Python of a release from the environment, or from venv.sh, which builds a missing one.
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

// readScripts opens the files that only scripts read, so that "go test" does not reuse a cached result after a change.
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

// runScript runs a script of this folder with a release and returns its output. found reports exit status 1.
func runScript(t *testing.T, r release, script string, args ...string) (output []byte, found bool) {
	t.Helper()
	output, status, complaints := forkServerOf(t, r).run(t, nil, script, args...)
	if status != 0 && (status != 1 || len(output) == 0) {
		t.Fatalf("%s %s: status %d\n%s", script, strings.Join(args, " "), status, complaints)
	}
	return output, status == 1
}

// pythonEnv returns the environment for a script of this folder. Byte code is cached beside the virtual environment,
// which makes the next import twice as fast and keeps the checkout clean.
func pythonEnv(python string) []string {
	return append(slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "PYTHONDONTWRITEBYTECODE=") || strings.HasPrefix(variable, "PYTHONPATH=")
	}), "PYTHONPATH="+tinyPackages(), "PYTHONPYCACHEPREFIX="+filepath.Join(filepath.Dir(filepath.Dir(python)), "pycache"))
}

// validate returns one verdict for each config in args, in their order.
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
