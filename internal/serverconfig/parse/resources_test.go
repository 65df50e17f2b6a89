// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// Proves: FR-006, FR-007, FR-042, R4, R23, R35.
func TestParseModels(t *testing.T) {
	got, problems := parseModels(itemsFromYAML(t, "llama3.2-8b",
		"{name: big, provider: vllm, modelType: llm, contextLength: 128000, quantization: fp8, providerModelId: meta/Big, metadata: {a: {b: 1}}}",
		"{name: e5, modelType: embedding, embeddingDimension: 1024}",
		"{name: e6, modelType: embedding, metadata: {embedding_dimension: 768}}",
		"{name: llama3.2-8b, provider: other, modelType: rerank}"))
	expectProblems(t, problems)
	want := []Model{
		{Name: "llama3.2-8b", Path: "spec.resources.models[0]"},
		{
			Name: "big", Provider: "vllm", ModelType: v1alpha2.ModelTypeLLM, ContextLength: ptr.To[int64](128000), Quantization: "fp8",
			ProviderModelID: "meta/Big", Metadata: map[string]any{"a": map[string]any{"b": int64(1)}}, Path: "spec.resources.models[1]",
		},
		{Name: "e5", ModelType: v1alpha2.ModelTypeEmbedding, EmbeddingDimension: ptr.To[int64](1024), Path: "spec.resources.models[2]"},
		{Name: "e6", ModelType: v1alpha2.ModelTypeEmbedding, Metadata: map[string]any{"embedding_dimension": int64(768)}, Path: "spec.resources.models[3]"},
		{Name: "llama3.2-8b", Provider: "other", ModelType: v1alpha2.ModelTypeRerank, Path: "spec.resources.models[4]"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Proves: FR-007, FR-042, FR-075, NFR-003, R7, R23, R35.
func TestParseModelsRefuses(t *testing.T) {
	for text, want := range map[string][]string{
		"''":                                    {"spec.resources.models[0]: Invalid value"},
		"12":                                    {"spec.resources.models[0]: Invalid value"},
		"null":                                  {"spec.resources.models[0]: Invalid value"},
		"{}":                                    {"spec.resources.models[0].name: Required value"},
		"{name: m, contextLen: " + canary + "}": {"spec.resources.models[0].contextLen: Invalid value"},
		"{name: m, modelType: " + canary + "}":  {"spec.resources.models[0].modelType: Unsupported value"},
		"{name: m, modelType: embeding}":        {"spec.resources.models[0].modelType: Unsupported value"},
		"{name: m, contextLength: '" + canary + "'}": {"spec.resources.models[0].contextLength: Invalid value"},
		"{name: m, contextLength: 0}":                {"spec.resources.models[0].contextLength: Invalid value"},
		"{name: m, contextLength: 1.5}":              {"spec.resources.models[0].contextLength: Invalid value"},
		"{name: m, metadata: " + canary + "}":        {"spec.resources.models[0].metadata: Invalid value"},
		"{name: m, modelType: embedding}": {
			"spec.resources.models[0].embeddingDimension: Required value"},
		"{name: m, modelType: embedding, embeddingDimension: 1, metadata: {embedding_dimension: 2}}": {
			"spec.resources.models[0].metadata[embedding_dimension]: Forbidden"},
		"{name: m, modelType: embedding, metadata: {embedding_dimension: null}}": {
			"spec.resources.models[0].embeddingDimension: Required value"},
		"{name: m, modelType: embedding, metadata: {embedding_dimension: abc}}":   {"spec.resources.models[0].metadata[embedding_dimension]: Invalid value"},
		"{name: m, modelType: embedding, metadata: {embedding_dimension: '-4'}}":  {"spec.resources.models[0].metadata[embedding_dimension]: Invalid value"},
		"{name: m, modelType: embedding, metadata: {embedding_dimension: 0}}":     {"spec.resources.models[0].metadata[embedding_dimension]: Invalid value"},
		"{name: m, modelType: embedding, metadata: {embedding_dimension: 1.5}}":   {"spec.resources.models[0].metadata[embedding_dimension]: Invalid value"},
		"{name: m, modelType: embedding, metadata: {embedding_dimension: true}}":  {"spec.resources.models[0].metadata[embedding_dimension]: Invalid value"},
		"{name: m, modelType: embedding, metadata: {embedding_dimension: [768]}}": {"spec.resources.models[0].metadata[embedding_dimension]: Invalid value"},
	} {
		t.Run(text, func(t *testing.T) {
			_, problems := parseModels(itemsFromYAML(t, text))
			expectProblems(t, problems, want...)
		})
	}
	_, problems := parseModels(itemsFromYAML(t, "m", "{name: m}", "{name: m, provider: x}"))
	expectProblems(t, problems,
		"spec.resources.models[1]: Duplicate value")
}

func unsupportedSetting(key string) string {
	return "spec.resources.tools[3]." + key + ": Forbidden"
}

// Proves: FR-006, FR-007, R36, R37, R25 (fields that no release line supports are rejected, with the alternative).
func TestParseToolsAndShields(t *testing.T) {
	tools, problems := parseTools(itemsFromYAML(t, "websearch", "{name: 'mcp::github', provider: mcp, endpoint: http://x}", "{provider: a, tool: b}",
		"{name: 'mcp::github', headers: {X-Key: canary}, authorization: canary, secretRefs: {}, apiKey: {name: a, key: b}, transport: sse}"))
	expectProblems(t, problems,
		"spec.resources.tools[2].name: Required value",
		"spec.resources.tools[2].tool: Invalid value",
		unsupportedSetting("apiKey"), unsupportedSetting("authorization"), unsupportedSetting("headers"), unsupportedSetting("secretRefs"),
		unsupportedSetting("transport"))
	wantTools := []Tool{
		{Name: "websearch", Path: "spec.resources.tools[0]"},
		{Name: "mcp::github", Provider: "mcp", Endpoint: "http://x", Path: "spec.resources.tools[1]"},
	}
	if diff := cmp.Diff(wantTools, tools[:2]); diff != "" {
		t.Error(diff)
	}
	shields, problems := parseShields(itemsFromYAML(t, "llama-guard", "{id: s, provider: llama-guard, model: m}", "[]"))
	expectProblems(t, problems, "spec.resources.shields[2]: Invalid value")
	wantShields := []Shield{
		{ID: "llama-guard", Path: "spec.resources.shields[0]"},
		{ID: "s", Provider: "llama-guard", Model: "m", Path: "spec.resources.shields[1]"},
	}
	if diff := cmp.Diff(wantShields, shields); diff != "" {
		t.Error(diff)
	}
}

// Proves: FR-011, R4, R41, EC-3.
func TestParseExpose(t *testing.T) {
	for text, want := range map[string]Expose{
		"null": {}, "false": {}, "true": {Enabled: true}, "{}": {Enabled: true}, "{hostname: h}": {Enabled: true, Hostname: "h"},
		"{enabled: true}": {Enabled: true}, "{enabled: false, hostname: h}": {Hostname: "h"},
		"{className: nginx, annotations: {a/b: c}, tls: {secretName: s}}": {
			Enabled: true, ClassName: "nginx", Annotations: map[string]string{"a/b": "c"}, TLSSecretName: "s",
		},
		"{hostname: h, weight: 0}":   {Enabled: true, Hostname: "h", Weight: new(int32(0))},
		"{hostname: h, weight: 100}": {Enabled: true, Hostname: "h", Weight: new(int32(100))},
	} {
		got, problems := ExposeField(fromYAML(t, text))
		expectProblems(t, problems)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s means %+v, want %+v", text, got, want)
		}
	}
	if got, problems := ExposeField(nil); !reflect.DeepEqual(got, Expose{}) || len(problems) > 0 {
		t.Errorf("absent means %+v, %v", got, problems)
	}
	for text, want := range map[string]string{
		canary:                           "spec.networking.expose: Invalid value",
		"[]":                             "spec.networking.expose: Invalid value",
		"{enabled: " + canary + "}":      "spec.networking.expose.enabled: Invalid value",
		"{tls: {}}":                      "spec.networking.expose.tls.secretName: Required value",
		"{tls: {secretName: s, key: k}}": "spec.networking.expose.tls.key: Invalid value",
		"{annotations: {a: 1}}":          "spec.networking.expose.annotations[a]: Invalid value",
		"{hostname: 1}":                  "spec.networking.expose.hostname: Invalid value",
		"{weight: 101}":                  "spec.networking.expose.weight: Invalid value",
		"{weight: -1}":                   "spec.networking.expose.weight: Invalid value",
		"{weight: '10'}":                 "spec.networking.expose.weight: Invalid value",
		"{weight: 0.5}":                  "spec.networking.expose.weight: Invalid value",
		"{host: " + canary + "}":         "spec.networking.expose.host: Invalid value",
	} {
		_, problems := ExposeField(fromYAML(t, text))
		expectProblems(t, problems, want)
	}
}

// Proves: FR-005, R2, R33.
func TestSecretKeyRefAcceptsBothForms(t *testing.T) {
	path := field.NewPath("spec", "storage", "kv", "password")
	nested := &v1alpha2.SecretKeySelector{Name: new("s"), Key: new("k")}
	for _, ref := range []v1alpha2.SecretKeyRef{{Name: new("s"), Key: new("k")}, {SecretKeyRef: nested}} {
		got, problems := SecretKeyRef(&ref, path)
		expectProblems(t, problems)
		if got != (SecretReference{Name: "s", Key: "k"}) {
			t.Errorf("resolved to %+v", got)
		}
	}
	for want, ref := range map[string]v1alpha2.SecretKeyRef{
		".name: Required value":             {Key: new("k")},
		".key: Required value":              {Name: new("s"), Key: new("")},
		".secretKeyRef.key: Required value": {SecretKeyRef: &v1alpha2.SecretKeySelector{Name: new("s")}},
		": Invalid value":                   {Name: new("s"), SecretKeyRef: nested},
	} {
		_, problems := SecretKeyRef(&ref, path)
		expectProblems(t, problems, "spec.storage.kv.password"+want)
	}
}

// Invalid JSON can only come from a program. It is an error, not a panic.
func TestParseRejectsInvalidJSON(t *testing.T) {
	broken := apiextensionsv1.JSON{Raw: []byte("{" + canary)}
	_, providerProblems := parseProviderField(&broken, field.NewPath("p"), nil)
	_, modelProblems := parseModels([]apiextensionsv1.JSON{broken})
	_, exposeProblems := ExposeField(&broken)
	for _, problems := range []problem.List{providerProblems, modelProblems, exposeProblems} {
		if len(problems) != 1 || problems[0].Detail != "is not JSON" {
			t.Errorf("errors %v", problems)
		}
	}
}
