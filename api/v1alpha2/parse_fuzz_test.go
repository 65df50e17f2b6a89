// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// FuzzParsers feeds any JSON to every parser of the open fields: none panics, changes its input, answers otherwise when asked again,
// or reports something without a field and a hint.
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
		parse := func() ([]any, field.ErrorList) {
			item := []apiextensionsv1.JSON{{Raw: raw}}
			path := field.NewPath("spec", "x")
			var all field.ErrorList
			var parsed []any
			add := func(v any, errs field.ErrorList) {
				parsed = append(parsed, v)
				all = append(all, errs...)
			}
			providers, errs := ParseProviderField(&item[0], path)
			add(providers, errs)
			for i := range providers {
				parsed = append(parsed, providers[i].EffectiveID())
			}
			groups, errs := ParseProviders(&ProvidersSpec{Inference: &item[0], Safety: &item[0], Telemetry: &item[0]})
			add(groups, errs)
			models, errs := ParseModels(append(item, item...))
			add(models, errs)
			tools, errs := ParseTools(item)
			add(tools, errs)
			shields, errs := ParseShields(item)
			add(shields, errs)
			expose, errs := ParseExpose(&item[0])
			add(expose, errs)
			return parsed, all
		}
		first, errs := parse()
		second, _ := parse()
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("another answer to the same question:\n%s", diff)
		}
		if !bytes.Equal(before, raw) {
			t.Error("the input was changed")
		}
		for _, err := range errs {
			if err.Field == "" || (err.Detail == "" && err.Type != field.ErrorTypeInternal) {
				t.Errorf("incomplete error %+v", err)
			}
			// Names that stand twice are told; they are no secrets.
			if s, ok := err.BadValue.(string); ok && len(s) > 20 && err.Type != field.ErrorTypeDuplicate && strings.Contains(err.Error(), s) {
				t.Errorf("the message shows a value: %v", err)
			}
		}
	})
}
