// SPDX-License-Identifier: Apache-2.0

package serverconfig_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Aliases and merge keys are expanded, and an edit of one copy leaves the others unchanged.
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
