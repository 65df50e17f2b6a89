// SPDX-License-Identifier: Apache-2.0

package serverconfig_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

// wholeSpec has references in all fields, on a release line that supports all of them.
const (
	wholeSpec = `
providers:
  inference:
  - {id: first, provider: vllm, endpoint: "http://a:8000", apiKey: {name: a, key: b}, secretRefs: {tls_verify: {name: a, key: c}}}
  - {id: second, provider: openai, apiKey: {secretKeyRef: {name: a, key: d}}, settings: {base_url: "http://b"}}
  safety: {provider: llama-guard}
  vectorIo: [{id: vectors, provider: pgvector, settings: {host: h, port: 1, db: d, user: u}, secretRefs: {password: {name: a, key: e}}}]
  toolRuntime:
  - {id: search, provider: brave-search, apiKey: {name: a, key: f}}
  - {id: mcp, provider: model-context-protocol}
resources:
  models:
  - small
  - {name: guard, provider: second, contextLength: 10, quantization: q, providerModelId: p, metadata: {a: b}}
  - {name: embed, provider: first, modelType: embedding, embeddingDimension: 3}
  shields: [{id: s, provider: llama-guard, model: second/p}]
  vectorStores: [{name: vs, provider: vectors, embeddingModel: embed}]
  tools: [{name: websearch, provider: search}, {name: "mcp::x", endpoint: "http://c/mcp"}]
`
	wholeLine = "0.7"
)

// An unreadable value causes one error, without consequential ones. Errors elsewhere are still reported.
//
// Proves: R74.
func TestGenerateReportsErrorsWithoutConsequences(t *testing.T) {
	const elsewhere = "spec.providers.inference[1].endpoint"
	if p := problemsOf(t, decodeYAML(t, []byte(wholeSpec))).Errors(); len(p) > 0 {
		t.Fatalf("the spec itself: %s", p.Message())
	}
	faults := 0
	try := func(spec any, at string) {
		t.Helper()
		faults++
		errs := problemsOf(t, spec).Errors()
		for _, p := range errs {
			if !(problem.List{p}).Covers(at) {
				t.Errorf("one value of %s is wrong, and this is reported of it: %s", at, p.String())
			}
		}
		if len(errs) == 0 {
			t.Errorf("the value of %s is wrong, and nothing is reported", at)
		}
		second := entryOf(spec, "inference", 1)
		if strings.HasPrefix(at, "spec.providers.inference[1]") || second == nil {
			return
		}
		second["endpoint"] = "http://user:word@b"
		defer delete(second, "endpoint")
		if both := problemsOf(t, spec); !both.Errors().Covers(elsewhere) || !both.Errors().Covers(at) {
			t.Errorf("%s is wrong and %s too, and this is reported: %s", at, elsewhere, both.Message())
		}
	}
	walkSpec(decodeYAML(t, []byte(wholeSpec)), try)
	if faults < 70 {
		t.Errorf("only %d faults were tried", faults)
	}
}

// walkSpec makes one value of the spec at a time invalid: with another type or with an unknown key.
func walkSpec(spec any, try func(spec any, at string)) {
	var walk func(v any, at string, put func(any))
	walk = func(v any, at string, put func(any)) {
		switch v := v.(type) {
		case map[string]any:
			if strings.HasPrefix(at, "spec.resources.vectorStores") {
				return // the schema of the API checks the type
			}
			if strings.HasSuffix(at, "ettings") || strings.HasSuffix(at, "metadata") || strings.HasSuffix(at, "secretRefs") {
				break // the content is the server's
			}
			if strings.Count(at, ".") > 1 {
				v["nonsense"] = "x"
				try(spec, at+".nonsense")
				delete(v, "nonsense")
			}
			for key, child := range v {
				walk(child, at+"."+key, func(other any) { v[key] = other })
			}
		case []any:
			for i, child := range v {
				walk(child, fmt.Sprintf("%s[%d]", at, i), func(other any) { v[i] = other })
			}
		}
		if strings.Count(at, ".") < 2 || strings.HasPrefix(at, "spec.resources") && strings.Count(at, ".") == 2 && !strings.HasSuffix(at, "]") {
			return // the schema of the API checks the type
		}
		put(true)
		try(spec, at)
		put(v)
	}
	walk(spec, "spec", nil)
}

func entryOf(spec any, api string, i int) map[string]any {
	list, _ := spec.(map[string]any)["providers"].(map[string]any)[api].([]any)
	if i >= len(list) {
		return nil
	}
	entry, _ := list[i].(map[string]any)
	return entry
}

func problemsOf(t *testing.T, spec any) problem.List {
	t.Helper()
	text, err := json.Marshal(spec)
	framework.NoError(t, err)
	base, ok := distributions.Base("starter", wholeLine)
	if !ok {
		t.Fatal("there is no base")
	}
	_, problems := serverconfig.Generate(t.Context(), serverconfig.Input{
		Name: "s", Namespace: "n", Spec: parse.Parse(step.Spec(t, string(text))), Base: parseBase(t, "starter", base), Line: step.Line(t, wholeLine),
	})
	return problems
}
