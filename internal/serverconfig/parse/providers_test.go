// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

func parseInference(t *testing.T, text string) ([]Provider, problem.List) {
	t.Helper()
	return parseProviderField(fromYAML(t, text), field.NewPath("spec", "providers", "inference"), APIInference.endpointKinds())
}

// An object and a list with one object are equivalent, and all fields are read.
//
// Proves: FR-004, FR-005, FR-035, R2, R3, R4.
func TestParseProviderForms(t *testing.T) {
	const fields = `provider: vllm
endpoint: http://vllm:8000
apiKey: {name: creds, key: token}
settings: {max_tokens: 8192, rate: 1.5, nested: {"on": true}, none: null}
region: eu
deploymentName: d
secretRefs: {clientKey: {secretKeyRef: {name: a, key: b}}}
host: {secretKeyRef: {name: pg, key: host}}
port: {name: pg, key: port}
`
	want := Provider{
		Type: "vllm", Endpoint: "http://vllm:8000", APIKey: &SecretReference{Name: "creds", Key: "token"},
		Settings:      map[string]any{"max_tokens": int64(8192), "rate": 1.5, "nested": map[string]any{"on": true}, "none": nil},
		SettingsField: "settings", Region: "eu", DeploymentName: "d",
		SecretRefs: []SecretField{
			{Field: "clientKey", Ref: SecretReference{Name: "a", Key: "b"}, Path: "spec.providers.inference.secretRefs[clientKey]"},
			{Field: "host", Ref: SecretReference{Name: "pg", Key: "host"}, Direct: true, Path: "spec.providers.inference.host"},
			{Field: "port", Ref: SecretReference{Name: "pg", Key: "port"}, Direct: true, Path: "spec.providers.inference.port"},
		},
		Path: "spec.providers.inference",
	}
	got, problems := parseInference(t, fields)
	expectProblems(t, problems)
	if diff := cmp.Diff([]Provider{want}, got); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}

	list, problems := parseInference(t, "- "+strings.ReplaceAll(strings.TrimSpace(fields), "\n", "\n  "))
	expectProblems(t, problems)
	want.Path = "spec.providers.inference[0]"
	for i := range want.SecretRefs {
		want.SecretRefs[i].Path = strings.Replace(want.SecretRefs[i].Path, "inference", "inference[0]", 1)
	}
	if diff := cmp.Diff([]Provider{want}, list); diff != "" {
		t.Errorf("list of one (-want +got):\n%s", diff)
	}
}

// Proves: FR-004, R4, R31.
func TestParseProviderAbsent(t *testing.T) {
	for _, raw := range []*apiextensionsv1.JSON{nil, {}, {Raw: []byte("null")}} {
		got, problems := parseProviderField(raw, field.NewPath("x"), nil)
		if len(got) != 0 || len(problems) != 0 {
			t.Errorf("%v gives %v, %v", raw, got, problems)
		}
	}
	groups, problems := parseProviders(nil)
	if len(groups) != 0 || len(problems) != 0 {
		t.Errorf("no spec gives %v, %v", groups, problems)
	}
	got, problems := parseInference(t, "{provider: ollama, id: null, apiKey: null, settings: null, whatever: null}")
	expectProblems(t, problems)
	if diff := cmp.Diff([]Provider{{Type: "ollama", SettingsField: "settings", Path: "spec.providers.inference"}}, got); diff != "" {
		t.Errorf("null is not absent:\n%s", diff)
	}
}

// config is an alias of settings.
//
// Proves: R3.
func TestParseProviderConfig(t *testing.T) {
	got, problems := parseInference(t, "{provider: vllm, config: {a: 1}}")
	expectProblems(t, problems)
	if diff := cmp.Diff(map[string]any{"a": int64(1)}, got[0].Settings); diff != "" || got[0].SettingsField != "config" {
		t.Errorf("settings from %q:\n%s", got[0].SettingsField, diff)
	}
}

// Proves: FR-004, FR-005, FR-034, FR-075, NFR-003, R2, R3, R4, R7, R34.
func TestParseProviderRefuses(t *testing.T) {
	long := strings.Repeat("a", MaxProviderIDLength+1)
	for text, want := range map[string][]string{
		"[]":               {"spec.providers.inference: Invalid value"},
		canary:             {"spec.providers.inference: Invalid value"},
		"[" + canary + "]": {"spec.providers.inference[0]: Invalid value"},
		"{}":               {"spec.providers.inference.provider: Required value"},
		"{provider: ''}":   {"spec.providers.inference.provider: Required value"},
		"[{provider: vllm, id: 1}, {provider: ollama, id: true}]": { // reported once each
			"spec.providers.inference[0].id: Invalid value", "spec.providers.inference[1].id: Invalid value"},
		"{provider: [" + canary + "]}":                     {"spec.providers.inference.provider: Invalid value"},
		"[{provider: vllm}, {provider: ollama, id: b}]":    {"spec.providers.inference[0].id: Required value"},
		"{provider: vllm, endpont: " + canary + "}":        {"spec.providers.inference.endpont: Invalid value"},
		"{provider: vllm, apikey: {name: s, key: k}}":      {"spec.providers.inference.apikey: Invalid value"}, // not a config field of the server
		"{provider: vllm, xylophone: {a: " + canary + "}}": {"spec.providers.inference.xylophone: Invalid value"},
		"{provider: vllm, apiKey: " + canary + "}": {
			"spec.providers.inference.apiKey: Invalid value"},
		"{provider: vllm, apiKey: {name: a}}":                                {"spec.providers.inference.apiKey.key: Required value"},
		"{provider: vllm, apiKey: {secretKeyRef: {key: a}}}":                 {"spec.providers.inference.apiKey.secretKeyRef.name: Required value"},
		"{provider: vllm, apiKey: {secretKeyRef: " + canary + "}}":           {"spec.providers.inference.apiKey.secretKeyRef: Invalid value"},
		"{provider: vllm, apiKey: {name: a, key: b, value: " + canary + "}}": {"spec.providers.inference.apiKey.value: Invalid value"},
		"{provider: vllm, apiKey: {name: a, key: b, secretKeyRef: {name: a, key: b}}}": {
			"spec.providers.inference.apiKey: Invalid value"},
		"{provider: vllm, settings: " + canary + "}": {"spec.providers.inference.settings: Invalid value"},
		"{provider: vllm, settings: {}, config: {}}": {"spec.providers.inference.config: Forbidden"},
		"{provider: vllm, secretRefs: {a: " + canary + "}}": {
			"spec.providers.inference.secretRefs[a]: Invalid value"},
		"{provider: vllm, secretRefs: {a: {name: s, key: k}}, a: {name: s, key: k}}": {
			"spec.providers.inference.a: Forbidden"},
		"{provider: vllm, endpoint: {secretKeyRef: {name: a, key: b}}}": {"spec.providers.inference.endpoint: Invalid value"},
		"{provider: vllm, id: all}":                                     {"spec.providers.inference.id: Invalid value"},
		"{provider: vllm, id: __disabled__}": {
			"spec.providers.inference.id: Invalid value"},
		"{provider: vllm, id: -x}":    {"spec.providers.inference.id: Invalid value"},
		"{provider: vllm, id: 'a b'}": {"spec.providers.inference.id: Invalid value"},
		"{provider: 'remote::'}": {
			"spec.providers.inference.id: Invalid value"},
		"{provider: vllm, id: " + long + "}": {"spec.providers.inference.id: Invalid value"},
	} {
		t.Run(text, func(t *testing.T) {
			_, problems := parseInference(t, text)
			expectProblems(t, problems, want...)
		})
	}
}

// Proves: FR-035, R34.
func TestEffectiveID(t *testing.T) {
	for want, p := range map[string]Provider{
		"vllm":       {Type: "vllm"},
		"ollama":     {Type: "remote::ollama"},
		"serverless": {Type: "remote::hf::serverless"},
		"mine":       {Type: "vllm", ID: "mine"},
	} {
		if got := p.EffectiveID(); got != want {
			t.Errorf("%+v has the id %q, want %q", p, got, want)
		}
	}
}

// Ids are unique across all five APIs, and the groups have the order of the spec.
//
// Proves: FR-003, FR-072, R34.
func TestParseProviders(t *testing.T) {
	groups, problems := parseProviders(&v1alpha2.ProvidersSpec{
		Telemetry: fromYAML(t, "{provider: otel}"), ToolRuntime: fromYAML(t, "{provider: tavily-search}"),
		VectorIo: fromYAML(t, "{provider: 'inline::faiss'}"), Safety: fromYAML(t, "{provider: llama-guard}"), Inference: fromYAML(t, "{provider: vllm}"),
	})
	expectProblems(t, problems)
	var apis []ProviderAPI
	for _, g := range groups {
		apis = append(apis, g.API)
	}
	if diff := cmp.Diff([]ProviderAPI{APIInference, APISafety, APIVectorIO, APIToolRuntime, APITelemetry}, apis); diff != "" {
		t.Error(diff)
	}

	_, problems = parseProviders(&v1alpha2.ProvidersSpec{
		Inference: fromYAML(t, "[{provider: bedrock}]"),
		Safety:    fromYAML(t, "[{provider: bedrock}, {id: bedrock, provider: nvidia}, {id: x, provider: nvidia}]"),
	})
	expectProblems(t, problems,
		"spec.providers.safety[0].id: Required value",
		"spec.providers.safety[1].id: Duplicate value")
}

// Proves: R4.
func TestParsingKeepsTheSpec(t *testing.T) {
	raw := fromYAML(t, "[{provider: vllm, id: a, apiKey: {name: s, key: k}, host: {name: s, key: k}, settings: {a: {b: 1}}}]")
	before := string(raw.Raw)
	if _, problems := parseProviders(&v1alpha2.ProvidersSpec{Inference: raw}); len(problems) > 0 {
		t.Fatal(problems)
	}
	if string(raw.Raw) != before {
		t.Errorf("the spec became %s", raw.Raw)
	}
}
