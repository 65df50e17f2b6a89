// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"slices"
	"strings"
	"testing"
)

// Proves: R16 (the catalog is keyed by release line).
func TestForVersion(t *testing.T) {
	for version, want := range map[string]string{
		"0.7.1": "0.7", "v0.7.3": "0.7", "0.7": "0.7", "0.7.1-rc2": "0.7", "0.7rc1": "0.7",
		"0.70.1": "", "1.7.1": "", "": "", "latest": "", "7": "",
	} {
		line, ok := ForVersion(version)
		if ok != (want != "") || (ok && line.Name != want) {
			t.Errorf("ForVersion(%q) = %v, %v; want %q", version, line, ok, want)
		}
	}
}

func TestCompare(t *testing.T) {
	names := []string{"1.10", "0.10", "1.9", "0.7", "1.0"}
	slices.SortFunc(names, Compare)
	if want := []string{"0.7", "0.10", "1.0", "1.9", "1.10"}; !slices.Equal(names, want) {
		t.Errorf("order %v, want %v", names, want)
	}
	if !slices.Contains(Lines(), "0.7") {
		t.Errorf("Lines() = %v", Lines())
	}
}

// Proves: R11 (the fields that release line 0.7 reads for endpoint and key).
func TestRows(t *testing.T) {
	line, ok := Get("0.7")
	if !ok {
		t.Fatal("no line 0.7")
	}
	for providerType, want := range map[string][3]string{
		"remote::vllm":      {"base_url", "/v1", "api_token"},
		"remote::ollama":    {"base_url", "/v1", ""},
		"remote::openai":    {"base_url", "/v1", "api_key"},
		"remote::groq":      {"base_url", "/openai/v1", "api_key"},
		"remote::anthropic": {"", "", "api_key"},
		"remote::vertexai":  {"", "", "access_token"},
	} {
		row, ok := line.Provider("inference", providerType)
		if !ok {
			t.Errorf("no row %s", providerType)
			continue
		}
		got := [3]string{"", "", row.Key}
		if row.Endpoint != nil {
			got[0], got[1] = row.Endpoint.Field, row.Endpoint.DefaultPath
		}
		if got != want {
			t.Errorf("%s: endpoint field, default path, key = %v, want %v", providerType, got, want)
		}
	}
	if _, ok := line.Provider("inference", "remote::tgi"); ok {
		t.Error("release line 0.7 has no remote::tgi")
	}
	if got := len(line.ProviderTypes("inference")); got != 23 {
		t.Errorf("%d inference provider types, release 0.7.1 has 23", got)
	}
}

func TestParseRefusesContradictions(t *testing.T) {
	const head = "line: x\npackage: p\nportEnv: P\nproviders:\n  inference:\n"
	for want, data := range map[string]string{
		"required":         "line: x\n",
		"not found":        "line: x\npackage: p\nportEnv: P\nshade: red\n",
		"no such field":    head + "  - {type: a, key: nope}\n",
		"unknown type":     head + "  - {type: a, fields: {f: {type: text}}}\n",
		"endpoint kind":    head + "  - {type: a, endpoint: {field: f, kind: x}, fields: {f: {type: url}}}\n",
		"sorted by type":   head + "  - {type: b}\n  - {type: a}\n",
		"and stand once":   head + "  - {type: a}\n  - {type: a}\n",
		"cannot unmarshal": head + "  - {type: a, fields: [f]}\n",
	} {
		if _, err := Parse([]byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %v, want an error with %q", data, err, want)
		}
	}
}
