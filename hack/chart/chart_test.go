// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const root = "../.."

// If this fails, run "make generate"; the tests in hack/tools/packages render the committed chart.
func TestChartIsUpToDate(t *testing.T) {
	files, err := templates(root)
	framework.NoError(t, err)
	for _, add := range []func(string, map[string]string) error{metadata, readme} {
		framework.NoError(t, add(root, files))
	}
	for name, want := range files {
		if got := readFile(t, filepath.Join(root, chartDir, name)); got != want {
			t.Errorf("%s is outdated: run make generate", name)
		}
	}
	if len(files) < 20 {
		t.Errorf("only %d files", len(files))
	}
}

func TestChartSettingsMatchOperatorSettings(t *testing.T) {
	var s schema
	framework.NoError(t, json.Unmarshal([]byte(readFile(t, filepath.Join(root, chartDir, "values.schema.json"))), &s))
	known := s.Properties["settings"].Properties
	for _, key := range settings.Keys() {
		if known[key].Description == "" {
			t.Errorf("values.schema.json has no settings.%s", key)
		}
	}
	for key := range known {
		if !slices.Contains(settings.Keys(), key) {
			t.Errorf("values.schema.json has settings.%s, which the operator does not read", key)
		}
	}
}

func TestTemplatesRejectUnknownObjects(t *testing.T) {
	for manifest, want := range map[string]string{
		"kind: Unheard\nmetadata: {name: a}\n":                       "no condition for kind Unheard",
		"kind: Role\nmetadata: {name: a, labels: {b: '{{ .c }}'}}\n": "which Helm would execute",
	} {
		dir := t.TempDir()
		framework.NoError(t, os.Mkdir(filepath.Join(dir, "dist"), 0o755))
		framework.NoError(t, os.WriteFile(filepath.Join(dir, "dist", "install.yaml"), []byte(manifest), 0o600))
		if _, err := templates(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, err := expand("a:\n  zz-b: '@@b@@'\n", nil); err == nil || !strings.Contains(err.Error(), "no fragment b") {
		t.Errorf("error %v", err)
	}
	if _, err := expand("a: b\n", map[string]string{"c": "d"}); err == nil || !strings.Contains(err.Error(), "fragment c is not") {
		t.Errorf("error %v", err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	framework.NoError(t, err)
	return string(text)
}
