// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

func TestCovers(t *testing.T) {
	for lines, want := range map[string]string{
		"0.3": "0.3", "-0.4": "0.3 0.4", "1.0-": "1.0 1.5 1.10", "0.4-1.0": "0.4 0.10 1.0", "0.3-0.3": "0.3", "1.11-": "",
	} {
		var got []string
		for _, line := range []string{"0.3", "0.4", "0.10", "1.0", "1.5", "1.10"} {
			covered, err := covers(lines, line)
			framework.NoError(t, err)
			if covered {
				got = append(got, line)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q covers %v, want %q", lines, got, want)
		}
	}
	for lines, want := range map[string]bool{"1.4": true, "1.4.1-": false, "-1.4.0": true, "1.5-": false, "1.4.0": true, "-1.3": false, "1.3-1.4": true} {
		if covered, err := covers(lines, "1.4.0"); err != nil || covered != want {
			t.Errorf("%q covers release 1.4.0: %v, %v, want %v", lines, covered, err, want)
		}
	}
	for _, lines := range []string{"", "-"} {
		if _, err := covers(lines, "0.3"); err == nil {
			t.Errorf("%q is accepted as a range", lines)
		}
	}
}

const someOverlay = `
apis: {}
toolGroups: {}
providers:
  inference:
    remote::a:
      source: somewhere
      key: api_key
      endpoint: {field: base_url, kind: url, defaultPath: /v1}
      changes:
      - lines: '-0.4'
        endpoint: {field: url, kind: url}
      - lines: '0.3'
        key: null
    remote::nowhere: {key: k}
`

func overlayOf(t *testing.T, text string) *overlay {
	t.Helper()
	file := filepath.Join(t.TempDir(), "overlay.yaml")
	framework.WriteFile(t, file, text)
	over, err := readOverlay(file)
	framework.NoError(t, err)
	return over
}

// A change replaces a key on its release lines, and null removes it.
func TestOverlayRow(t *testing.T) {
	over := overlayOf(t, someOverlay)
	old := &catalog.Endpoint{Field: "url", Kind: catalog.EndpointURL}
	for line, want := range map[string]row{
		"0.3": {Source: "somewhere", Endpoint: old},
		"0.4": {Source: "somewhere", Endpoint: old, Key: "api_key"},
		"0.5": {
			Source: "somewhere", Endpoint: &catalog.Endpoint{Field: "base_url", Kind: catalog.EndpointURL, DefaultPath: "/v1"}, Key: "api_key",
		},
	} {
		got, ok, err := over.row(line, "inference", "remote::a")
		if err != nil || !ok {
			t.Fatalf("line %s: %v, %v", line, ok, err)
		}
		if diff := cmp.Diff(want, *got); diff != "" {
			t.Errorf("line %s (-want +got):\n%s", line, diff)
		}
	}
	if _, _, err := over.row("0.5", "inference", "remote::nowhere"); err == nil || !strings.Contains(err.Error(), "no source") {
		t.Errorf("a row without source: %v", err)
	}
	err := over.checkUnused([]*catalog.Line{{Name: "0.5", Rows: map[string][]catalog.Provider{"inference": {{Type: "remote::a"}}}}})
	if err == nil || !strings.Contains(err.Error(), "remote::nowhere") {
		t.Errorf("a row of a type that no line has: %v", err)
	}
}

// A type of a new release cannot be used before the overlay has a row for it.
func TestAssembleRequiresRowForEachConfigurableType(t *testing.T) {
	introspected := &introspection{
		Package: "ogx", Release: "1.6.0", Env: environment{Port: "OGX_PORT"},
		Providers: map[string]map[string]provider{"inference": {"remote::new": {}}},
	}
	_, err := assemble("1.6", introspected, overlayOf(t, someOverlay))
	if err == nil || !strings.Contains(err.Error(), "overlay.yaml has no row for remote::new") {
		t.Errorf("got %v", err)
	}
}

// The server ignores unknown fields, so the fields of the overlay must exist.
func TestAssembleRejectsUnknownFields(t *testing.T) {
	introspected := &introspection{
		Package: "ogx", Release: "1.6.0", Env: environment{Port: "OGX_PORT"},
		Providers: map[string]map[string]provider{"inference": {"remote::a": {
			Fields: map[string]field{"base_url": {Type: catalog.TypeURL}, "token": {Type: catalog.TypeString}},
		}}},
	}
	_, err := assemble("1.6", introspected, overlayOf(t, someOverlay))
	if err == nil || !strings.Contains(err.Error(), "no such field: api_key") {
		t.Errorf("got %v", err)
	}
}

func TestStarterBaseEqualsPackagedConfig(t *testing.T) {
	const packaged = `{"version": 2, "distro_name": "starter", "apis": ["vector_io", "inference"], "connectors": [],
		"providers": {"inference": [
			{"provider_id": "local", "provider_type": "inline::x"},
			{"provider_id": "${env.A:+a}", "provider_type": "remote::a", "config": {"z": 1.5, "api_key": "k", "url": "u"}}]}}`
	introspected := &introspection{}
	decoder := json.NewDecoder(strings.NewReader(`{"starter": ` + packaged + `}`))
	decoder.UseNumber()
	framework.NoError(t, decoder.Decode(introspected))
	line := &catalog.Line{Name: "1.6", Rows: map[string][]catalog.Provider{"inference": {{
		Type: "remote::a", Key: "api_key", Endpoint: &catalog.Endpoint{Field: "url"},
	}}}}
	text, err := encodeBase(line, introspected.Starter, "Base config.")
	framework.NoError(t, err)
	var got, want map[string]any
	framework.NoError(t, yaml.Unmarshal(text, &got))
	framework.NoError(t, json.Unmarshal([]byte(packaged), &want))
	want["apis"] = []any{"inference", "vector_io"}
	want["version"] = 2
	entries := want["providers"].(map[string]any)["inference"].([]any)
	entries[0], entries[1] = entries[1], entries[0]
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-packaged +written):\n%s", diff)
	}
	address, key, other := bytes.Index(text, []byte("url: u")), bytes.Index(text, []byte("api_key: k")), bytes.Index(text, []byte("z: 1.5"))
	if address > key || key > other {
		t.Errorf("the address comes first, then the key:\n%s", text)
	}
}

func TestSpan(t *testing.T) {
	p := page{names: []string{"0.3", "0.4", "0.5", "0.8", "1.0"}}
	for with, want := range map[string]string{
		"0.3": "0.3", "0.3 0.4": "0.3, 0.4", "0.3 0.4 0.5": "0.3 to 0.5", "0.3 0.5 0.8 1.0": "0.3, 0.5 to 1.0",
	} {
		if got := p.span(strings.Fields(with)); got != want {
			t.Errorf("%s: %q, want %q", with, got, want)
		}
	}
}

// Proves: R28, R47 (composing adapts a packaged config so that it starts, and drops resources without a provider).
func TestCompose(t *testing.T) {
	var starterConfig, own, want map[string]any
	for text, into := range map[string]*map[string]any{
		`{distro_name: starter, safety: {default_shield_id: guard}, vector_stores: {default_provider_id: faiss, default_embedding_model: {provider_id: local}},
		  providers: {
		    inference: [{provider_id: "${env.URL:+a}", provider_type: "remote::a", config: {url: "${env.URL:=}", b: 1}}],
		    files: [{provider_id: "${env.F:+f}", provider_type: "remote::f"}, {provider_id: disk, provider_type: "inline::disk", config: {dir: ~/distributions/starter/files}}]},
		  storage: {backends: {kv: {type: sqlite}}, stores: {all: {backend: kv}}},
		  registered_resources: {models: [{model_id: x, provider_id: a}], shields: [{shield_id: guard, provider_id: "${env.S:+guard}"}],
		    tool_groups: [{toolgroup_id: w, provider_id: search}, {toolgroup_id: r, provider_id: rag}]}}`: &starterConfig,
		`{distro_name: demo, providers: {
		    inference: [{provider_id: own-a, provider_type: "remote::a", config: {gone: 1}}, {provider_id: own-m, provider_type: "inline::m", config: {model: "${env.M}"}},
		      {provider_id: local, provider_type: "inline::local"}],
		    tool_runtime: [{provider_id: rag, provider_type: "inline::rag"}]},
		  storage: {backends: {kv: {type: postgres}}, stores: {few: {backend: kv}}},
		  registered_resources: {models: [{model_id: "${env.M}", provider_id: own-m}, {model_id: listed-anyway, provider_id: local}], shields: [{shield_id: unserved}]}}`: &own,
		`{distro_name: demo, apis: [files, inference, tool_runtime], vector_stores: {default_embedding_model: {provider_id: local}},
		  providers: {
		    inference: [{provider_id: "${env.URL:+own-a}", provider_type: "remote::a", config: {url: "${env.URL:=}", b: 1}},
		      {provider_id: "${env.M:+own-m}", provider_type: "inline::m", config: {model: "${env.M:=}"}}, {provider_id: local, provider_type: "inline::local"}],
		    tool_runtime: [{provider_id: rag, provider_type: "inline::rag"}],
		    files: [{provider_id: disk, provider_type: "inline::disk", config: {dir: ~/distributions/demo/files}}]},
		  storage: {backends: {kv: {type: postgres}}, stores: {all: {backend: kv}}},
		  registered_resources: {models: [{model_id: "${env.M:=unset}", provider_id: "${env.M:+own-m}"}], shields: [], tool_groups: [{toolgroup_id: r, provider_id: rag}]}}`: &want,
	} {
		framework.NoError(t, yaml.Unmarshal([]byte(text), into))
	}
	line := &catalog.Line{
		APIs: map[string]catalog.API{"files": {}, "inference": {}, "tool_runtime": {}},
		Rows: map[string][]catalog.Provider{
			"inference":    {{Type: "inline::m", Fields: map[string]catalog.Field{"model": {}}}, {Type: "remote::a", Fields: map[string]catalog.Field{"url": {}, "b": {}}}},
			"tool_runtime": {{Type: "inline::rag", Needs: []string{"files", "models"}}},
		},
	}
	if diff := cmp.Diff(want, compose(line, "demo", own, starterConfig)); diff != "" {
		t.Errorf("(-want +composed):\n%s", diff)
	}
}

// A new authentication type needs a row in the overlay. Fields of a single class belong only to its type.
//
// Proves: R83.
func TestAssembleAuthRequiresRowForEachType(t *testing.T) {
	introspected := func() *introspection {
		return &introspection{
			Package: "ogx", Release: "1.6.0", Env: environment{Port: "OGX_PORT"},
			Sections: map[string]field{
				"server": {Type: catalog.TypeMap, Object: "Server"}, "providers": {Type: catalog.TypeMap}, "storage": {Type: catalog.TypeMap},
			},
			Objects: map[string]map[string]field{
				"Server": {"auth": {Type: catalog.TypeMap, Object: "Auth"}},
				"Auth":   {"provider_config": {Type: catalog.TypeMap, Object: "A|B"}},
				"A|B": {
					"type": {Type: catalog.TypeString, Required: true, Values: []string{"b", "a"}, Chooses: true},
					"both": {Type: catalog.TypeString}, "only_a": {Type: catalog.TypeString, Only: []string{"a"}},
				},
			},
		}
	}
	const rows = "apis: {}\ntoolGroups: {}\nproviders: {}\nauth:\n  a: {source: somewhere, tenant: only_a}\n"
	if _, err := assemble("1.6", introspected(), overlayOf(t, rows)); err == nil || !strings.Contains(err.Error(), "no row for the authentication b") {
		t.Errorf("without a row: %v", err)
	}
	line, err := assemble("1.6", introspected(), overlayOf(t, rows+"  b: {source: somewhere, tenant: only_a}\n"))
	framework.NoError(t, err)
	want := []catalog.AuthType{
		{Type: "a", Source: "somewhere", Tenant: "only_a", Fields: map[string]catalog.Field{"both": {Type: catalog.TypeString}, "only_a": {Type: catalog.TypeString}}},
		{Type: "b", Source: "somewhere", Fields: map[string]catalog.Field{"both": {Type: catalog.TypeString}}},
	}
	if diff := cmp.Diff(want, line.Auth); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, left := line.Objects["A|B"]; left {
		t.Error("the union of the classes still exists")
	}
}
