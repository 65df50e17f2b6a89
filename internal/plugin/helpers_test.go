// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/files"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const samplesDir = "../../config/samples"

type result struct {
	code     int
	out, err string
}

func run(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var out, err bytes.Buffer
	code := plugin.Run(t.Context(), args, cli.Streams{In: strings.NewReader(stdin), Out: &out, Err: &err})
	return result{code, out.String(), strings.TrimSuffix(err.String(), files.AssumedNote)}
}

// mustRun runs the plugin, which must succeed with empty standard error.
func mustRun(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	r := run(t, stdin, args...)
	if r.code != cli.ExitOK || r.err != "" {
		t.Fatalf("%v: exit code %d, standard error:\n%s", args, r.code, r.err)
	}
	return r.out
}

func read(t *testing.T, file string) string {
	t.Helper()
	content := framework.ReadFile(t, file)
	return string(content)
}

// glob returns the files that match the pattern, at least one.
func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(found), err)
	}
	return found
}

func write(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "resource.yaml")
	framework.WriteFile(t, file, content)
	return file
}

func stem(file string) string { return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)) }
