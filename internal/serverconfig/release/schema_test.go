// SPDX-License-Identifier: Apache-2.0

package release_test

import (
	"slices"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

func schemasOf(t *testing.T, data []byte) []string {
	t.Helper()
	base, err := document.ParseBase("base", data)
	if err != nil {
		t.Fatal(err)
	}
	return release.Lines(base)
}

// A base matches the config schema of its release line, and no other one if they differ enough.
//
// Proves: R16.
func TestLinesOfStarter(t *testing.T) {
	alone := []string{"0.3", "0.6", "0.7", "0.8", "1.1"} // later servers differ too little, or their successor is unknown
	for _, line := range catalog.Lines() {
		data, _ := distributions.Base("starter", line)
		got := schemasOf(t, data)
		if !slices.Contains(got, line) || slices.Contains(alone, line) && len(got) > 1 {
			t.Errorf("the starter base of %s has the config schemas of %q", line, got)
		}
	}
}

// Proves: R16 (a feature limits the matching release lines; a feature that none has matches none).
func TestLines(t *testing.T) {
	all := catalog.Lines()
	for name, c := range map[string]struct {
		base string
		want []string
	}{
		"nothing told":        {"version: 2", all},
		"a section":           {"telemetry: {enabled: true}", []string{"0.3"}},
		"an API":              {"apis: [inference, agents]", []string{"0.3", "0.4", "0.5", "0.6"}},
		"providers of an API": {"providers: {skills: []}", all[slices.Index(all, "1.1"):]},
		"a provider type":     {"providers: {tool_runtime: [{provider_id: a, provider_type: 'remote::exa-search'}]}", all[slices.Index(all, "1.5"):]},
		"a config field":      {"providers: {inference: [{provider_id: a, provider_type: 'remote::vllm', config: {url: 'http://a'}}]}", []string{"0.3"}},
		"a store":             {"storage: {stores: {vector_stores: {backend: a, table_name: b}}}", all[slices.Index(all, "1.0"):]},
		"a backend":           {"storage: {backends: {a: {type: kv_what}}}", []string{}},
		"a field of the server": {
			"server: {insecure: true}", all[slices.Index(all, "1.2"):],
		},
		"of no line":            {"what: 1", []string{}},
		"old and new":           {"apis: [agents, skills]", []string{}},
		"what the image brings": {"providers: {inference: [{provider_id: a, provider_type: 'remote::mine', module: mine}]}", all},
		"an unknown provider":   {"providers: {inference: [{provider_id: a, provider_type: 'remote::mine'}]}", []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := schemasOf(t, []byte(c.base)); !slices.Equal(got, c.want) {
				t.Errorf("%s has the config schemas of %q, want %q", c.base, got, c.want)
			}
		})
	}
}
