// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// FuzzParsers parses arbitrary JSON as each open field. Parsers must not panic or change their input, must be
// deterministic, and must report complete problems.
//
// Proves: FR-075, NFR-001, NFR-004, R2, R3, R4, R35, R36, R37.
func FuzzParsers(f *testing.F) {
	for _, seed := range []string{
		`"llama3.2-8b"`, `null`, `true`, `[]`, `{}`, `[{"id": "a", "provider": "vllm"}, {"provider": "remote::openai"}]`,
		`{"provider": "vllm", "endpoint": "http://v:8000", "apiKey": {"secretKeyRef": {"name": "s", "key": "k"}}, "settings": {"a": {"b": 1}}, "host": {"name": "s", "key": "h"}}`,
		`{"name": "e5", "modelType": "embedding", "embeddingDimension": 768, "metadata": {"x": [1, 2.5, null]}}`,
		`{"name": "mcp::github", "endpoint": "http://m/", "provider": "x"}`, `{"id": "guard", "model": "m"}`, `{"enabled": false, "hostname": "h"}`,
		`{"provider": "a", "secretRefs": {"x": {"name": "n", "key": "k"}}, "config": {}, "region": 1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		parse := func() ([]any, problem.List) {
			item := []apiextensionsv1.JSON{{Raw: raw}}
			path := field.NewPath("spec", "x")
			var all problem.List
			var parsed []any
			add := func(v any, problems problem.List) {
				parsed = append(parsed, v)
				all = append(all, problems...)
			}
			providers, problems := parseProviderField(&item[0], path, APIInference.endpointKinds())
			add(providers, problems)
			for i := range providers {
				parsed = append(parsed, providers[i].EffectiveID())
			}
			groups, problems := parseProviders(&v1alpha2.ProvidersSpec{Inference: &item[0], Safety: &item[0], Telemetry: &item[0]})
			add(groups, problems)
			models, problems := parseModels(append(item, item...))
			add(models, problems)
			tools, problems := parseTools(item)
			add(tools, problems)
			shields, problems := parseShields(item)
			add(shields, problems)
			expose, problems := ExposeField(&item[0])
			add(expose, problems)
			return parsed, all
		}
		first, problems := parse()
		second, _ := parse()
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("another answer to the same question:\n%s", diff)
		}
		if !bytes.Equal(before, raw) {
			t.Error("the input was changed")
		}
		for _, p := range problems {
			if p.Path == "" || p.Type == "" || p.Detail+p.Fix == "" || p.Reason == "" {
				t.Errorf("incomplete problem %+v", p)
			}
			// Duplicate names are shown, because they are not secrets.
			if value, ok := p.Value.(string); ok && len(value) > 20 && p.Type != field.ErrorTypeDuplicate {
				t.Errorf("the message shows a value: %s", p)
			}
		}
	})
}
