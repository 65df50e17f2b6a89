// SPDX-License-Identifier: Apache-2.0

package difference_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/difference"
)

// The order of named items and the notation of values are ignored.
func TestTreesComparesByMeaning(t *testing.T) {
	var before, after any
	for text, into := range map[string]*any{`
apis: [a, b]
providers:
  inference:
  - {provider_id: x, config: {url: one, api_key: k1, n: 1}}
  - {provider_id: "${env.Z:+zz}", config: {}}
  - {provider_id: twice}
  - {provider_id: twice, config: {a: b}}
env: [{name: A_TOKEN, value: one}, {name: B, value: one}]
`: &before, `
env:
- {value: two, name: B}
- {name: A_TOKEN, value: two}
providers:
  inference:
  - {provider_id: zz, config: {}}
  - {provider_id: twice}
  - {provider_id: twice, config: {a: b}}
  - {config: {n: 1, url: "http://me:pw@two", api_key: k2}, provider_id: x}
apis: [b, c]
`: &after} {
		if err := yaml.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	want := []difference.Change{
		{Path: "apis[a]", Before: "present"},
		{Path: "apis[c]", After: "present"},
		{Path: "env[A_TOKEN].value", Before: "<hidden>", After: "<hidden>"},
		{Path: "env[B].value", Before: "one", After: "two"},
		{Path: "providers.inference[x].config.api_key", Before: "<hidden>", After: "<hidden>"},
		{Path: "providers.inference[x].config.url", Before: "one", After: "http://<hidden>@two"},
		{Path: "providers.inference[zz].provider_id", Before: "${env.Z:+zz}"},
	}
	if diff := cmp.Diff(want, difference.CompareTrees(before, after)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if same := difference.CompareTrees(before, before); same != nil {
		t.Errorf("%v", same)
	}
}
