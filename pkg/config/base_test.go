// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
)

// Proves: FR-075 (what is wrong with a base is named with its line).
func TestParseBaseRefuses(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("a: &a [" + strings.Repeat("x, ", 10) + "]\n")
	for c := 'b'; c <= 'h'; c++ {
		fmt.Fprintf(&bomb, "%c: &%c [%s]\n", c, c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 10))
	}
	for data, want := range map[string]string{
		"":                                  "the document is empty",
		"# only a comment\n":                "the document is empty",
		"a: [":                              "not YAML: line 1",
		"a: 1\n\tb: 2\n":                    "not YAML: line 2",
		"- a":                               "line 1: the document is not a map",
		"just text":                         "line 1: the document is not a map",
		"a: 1\n---\nb: 2\n":                 "a second document begins",
		"a: 1\nb: 2\na: 3\n":                `line 3: the key "a" stands twice`,
		"? [a]\n: 1\n":                      "line 1: a key is not a scalar",
		"a: 1\nproviders: []\n":             "line 2: providers is not a map",
		"providers:\n  inference: {}\n":     "line 2: providers.inference is not a list",
		"providers:\n  inference:\n  - a\n": "line 3: an item of providers.inference is not a map",
		"providers: {f: [{config: [1]}]}\n": "line 1: the config of a provider is not a map",
		"registered_resources: {models: 1}": "line 1: registered_resources.models is not a list",
		"apis: {}\n":                        "line 1: apis is not a list",
		"server: []\n":                      "line 1: server is not a map",
		"storage: {stores: []}\n":           "line 1: storage.stores is not a map",
		"a: *nowhere\n":                     "not YAML",
		"a: &a [*a]\n":                      "too large",
		"a: 1\n<<: 3\n":                     "line 2: a merge key needs a map",
		bomb.String():                       "too large",
		strings.Repeat("[", 200) + "\n":     "not YAML",
		"a: " + strings.Repeat("[", 150) + strings.Repeat("]", 150): "too large",
	} {
		base, err := config.ParseBase("mine", []byte(data))
		var fault *config.BaseError
		if base != nil || !errors.As(err, &fault) || !strings.Contains(fault.Reason, want) {
			t.Errorf("ParseBase(%.40q) = %v, want an error with %q", data, err, want)
			continue
		}
		if finding := fault.Finding(); finding.Code != config.InvalidBase || finding.Path != "base configuration mine" || finding.Mending == "" {
			t.Errorf("ParseBase(%.40q): incomplete finding %+v", data, finding)
		}
	}
}

// Aliases and merge keys mean what they say, and editing one place does not change the other.
//
// Proves: R9.
func TestAliasesAreExpanded(t *testing.T) {
	in := input(t, "testdata/vllm-with-key", "0.7")
	in.Base = parseBase(t, "aliases", []byte(`
common: &common {max_tokens: 1, base_url: "http://old"}
more: &more {max_tokens: 2, allowed_models: [m]}
providers:
  inference:
  - provider_id: vllm
    provider_type: remote::vllm
    config: &config
      <<: [*common, *more]
      refresh_models: true
copy: *config
`))
	tree, _ := decodeYAML(t, generate(t, in).YAML).(map[string]any)
	old := map[string]any{"refresh_models": true, "max_tokens": 1, "base_url": "http://old", "allowed_models": []any{"m"}}
	if diff := cmp.Diff(old, tree["copy"]); diff != "" {
		t.Errorf("copy:\n%s", diff)
	}
	providers, _ := tree["providers"].(map[string]any)
	want := []any{map[string]any{
		"provider_id": "vllm", "provider_type": "remote::vllm",
		"config": map[string]any{
			"refresh_models": true, "max_tokens": 1, "allowed_models": []any{"m"},
			"base_url": "http://vllm:8000/v1", "api_token": "${env.LLSD_VLLM_API_KEY}",
		},
	}}
	if diff := cmp.Diff(want, providers["inference"]); diff != "" {
		t.Errorf("providers:\n%s", diff)
	}
}

func TestBaseNameAndHash(t *testing.T) {
	base := parseBase(t, "mine", []byte("version: 2\n"))
	const want = "sha256:16e0d1afd6e96036b776ab20684da35f075c50d6f3c0fd599ddc8218ebbdfb56"
	if base.Name() != "mine" || base.Hash() != want {
		t.Errorf("name %q, hash %q", base.Name(), base.Hash())
	}
	if other := parseBase(t, "mine", []byte("version: 2 # the same\n")); other.Hash() == base.Hash() {
		t.Error("other bytes have the same hash")
	}
}
