// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// venvTimeout bounds building the virtual environment: seconds with a warm package cache, minutes without.
	venvTimeout = 15 * time.Minute
	// judgeTimeout bounds one run of a script in it.
	judgeTimeout = 5 * time.Minute
)

// verdict is what the judge says about one file.
type verdict struct {
	Config      string    `json:"config"`
	Providers   []string  `json:"providers"`
	SwitchedOff int       `json:"switched_off"`
	Findings    []finding `json:"findings"`
}

type finding struct {
	Kind    string `json:"kind"`
	Path    string `json:"path"`
	Message string `json:"message"`
}

func (f finding) String() string {
	return fmt.Sprintf("%s  %s: %s", f.Kind, f.Path, f.Message)
}

var findPython = sync.OnceValues(func() (string, error) {
	if python := os.Getenv("LLSD_SERVER_PYTHON_0_7"); python != "" {
		return python, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), venvTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, "./venv.sh", "0.7").Output()
	if err != nil {
		return "", fmt.Errorf("./venv.sh 0.7: %w\n%s", err, stderrOf(err))
	}
	return strings.TrimSpace(string(out)), nil
})

// serverPython returns the Python of the virtual environment that holds the server.
func serverPython(t *testing.T) string {
	t.Helper()
	python, err := findPython()
	if err != nil {
		t.Fatalf("no virtual environment with the real server (LLSD_SERVER_PYTHON_0_7 may name one): %v", err)
	}
	return python
}

// runScript runs one of this folder's scripts and returns its output; a script that found something is no error.
func runScript(t *testing.T, script string, args ...string) (output []byte, found bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), judgeTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, serverPython(t), append([]string{"-B", script}, args...)...).Output()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return out, false
	case errors.As(err, &exit) && exit.ExitCode() == 1 && len(out) > 0:
		return out, true
	default:
		t.Fatalf("%s %s: %v\n%s", script, strings.Join(args, " "), err, stderrOf(err))
		return nil, false
	}
}

// judge returns one verdict per config, in the order of the arguments that are files.
func judge(t *testing.T, args ...string) []verdict {
	t.Helper()
	out, found := runScript(t, "judge.py", append([]string{"--json"}, args...)...)
	var report struct{ Verdicts []verdict }
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&report); err != nil {
		t.Fatalf("judge.py's answer: %v", err)
	}
	something := false
	for _, v := range report.Verdicts {
		something = something || len(v.Findings) > 0
	}
	if something != found {
		t.Errorf("judge.py's exit status and its findings contradict each other")
	}
	return report.Verdicts
}

func stderrOf(err error) []byte {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.Stderr
	}
	return nil
}
