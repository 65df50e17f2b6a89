// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/lint"
)

const head = "version: 2\ndistro_name: a\nserver: {insecure: true}\nstorage: {}\n"

func check(t *testing.T, line, content string, given document.Variables) (texts []string) {
	t.Helper()
	of, ok := catalog.Get(line)
	if !ok {
		t.Fatalf("no release line %s", line)
	}
	for _, f := range lint.Check(t.Context(), &lint.Input{Content: []byte(content), Line: of, Variables: given}) {
		texts = append(texts, string(f.Effect)+" "+f.At("config.yaml")+": "+f.Detail+": "+f.Fix)
	}
	return texts
}

// Proves: R88 (position, cause and fix of each finding; tests/server compares the findings with the server's classes).
func TestCheckReportsPositionCauseAndFix(t *testing.T) {
	for name, c := range map[string]struct {
		line, content string
		given         document.Variables
		want          []string
	}{
		"nothing": {"1.5", head + "providers: {}\n", nil, nil},
		"not a map": {"1.5", "- a\n", nil, []string{
			"Refused config.yaml: line 1: the document is not a map: " + document.BaseFix,
		}},
		"worst first, then by position": {"1.5", head + `providers:
  inference:
  - {provider_id: a, provider_type: "remote::openai", config: {api_key: sk-secret, ulr: b}}
  - {provider_id: b, provider_type: "remote::opnai"}
`, nil, []string{
			`Refused config.yaml:8:37: providers.inference[1].provider_type: release line 1.5 has no type "remote::opnai" of inference providers: ` +
				`did you mean "remote::openai"?`,
			"Ignored config.yaml:7:89: providers.inference[0].config.ulr: release line 1.5 has no such field: remove it",
			"Exposed config.yaml:7:73: providers.inference[0].config.api_key: is a secret, and everyone who may read the ConfigMap sees it: " +
				"refer to an environment variable: ${env.NAME}",
		}},
		"field of another line": {"0.3", head + "providers: {}\nimage_name: a\n", nil, []string{
			"Refused config.yaml:4:10: storage.backends: the server does not start without it: add it",
			"Ignored config.yaml:2:14: distro_name: release line 0.3 has no such field: it exists in release lines 0.5 and newer",
			"Ignored config.yaml:3:20: server.insecure: release line 0.3 has no such field: it exists in release lines 1.2 and newer",
		}},
		"variables": {"1.5", head + "providers: {}\nimage_name: ${env.SET}-${env.UNSET}-${env.X:a}\n", document.Variables{"SET": true}, []string{
			"Refused config.yaml:6:13: image_name: nothing sets the environment variable UNSET: set it in spec.workload.overrides.env, or give it a default: ${env.UNSET:=…}",
			"Ignored config.yaml:6:13: image_name: the server does not expand ${env.X:…}: write := before the default: ${env.X:=…}",
		}},
		"secret as the default of a dead reference": {"1.5", head + `providers:
  inference:
  - {provider_id: a, provider_type: "remote::openai", config: {api_key: "${env.KEY:sk-secret}"}}
`, nil, []string{
			"Ignored config.yaml:7:73: providers.inference[0].config.api_key: the server does not expand ${env.KEY:…}: write := before the default: ${env.KEY:=…}",
			"Exposed config.yaml:7:73: providers.inference[0].config.api_key: is a secret, and everyone who may read the ConfigMap sees it: " +
				"refer to an environment variable: ${env.NAME}",
		}},
		"broken reference": {"1.5", head + "providers: {}\nregistered_resources:\n  models:\n  - {model_id: a, provider_id: b}\n", nil, []string{
			`Refused config.yaml:8:32: registered_resources.models[0].provider_id: there is no inference provider with the id "b": none exists`,
		}},
		"default store without its backend": {"0.4", "version: 2\nimage_name: a\nproviders: {}\nstorage:\n  backends:\n" +
			"    kv_default: {type: kv_sqlite, db_path: a}\n    sql: {type: sql_sqlite, db_path: a}\n" +
			"  stores:\n    inference: {backend: sql, table_name: a}\n", nil, []string{
			"Refused config.yaml:6:5: storage.backends: has no sql_default of type sql_…, which is the default of stores that the " +
				"file does not have: conversations: add it, or these stores under storage.stores with another backend",
		}},
		"unknown variables": {"1.5", head + "providers: {}\nimage_name: ${env.UNSET}\n", nil, nil},
	} {
		if diff := cmp.Diff(c.want, check(t, c.line, c.content, c.given)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// BenchmarkCheckManyUnknownKeys measures a file of the largest size in which each key is unknown.
func BenchmarkCheckManyUnknownKeys(b *testing.B) {
	var text strings.Builder
	text.WriteString(head + "providers: {}\n")
	for i := range limits.DocumentNodes/2 - 100 {
		fmt.Fprintf(&text, "unknown%d: a\n", i)
	}
	line, _ := catalog.Get("1.5")
	for b.Loop() {
		lint.Check(b.Context(), &lint.Input{Content: []byte(text.String()), Line: line})
	}
}

// Proves: R63 (a file with many faults gives few findings).
func TestCheckBoundsTheFindings(t *testing.T) {
	var b strings.Builder
	b.WriteString(head + "providers: {}\n")
	for i := range 10 * limits.Problems {
		fmt.Fprintf(&b, "unknown%d: a\n", i)
	}
	if got := len(check(t, "1.5", b.String(), nil)); got != limits.Problems {
		t.Errorf("%d findings", got)
	}
}
