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
	const (
		p       = "spec.providers.inference"
		ref     = "a secret reference, either {name, key} or {secretKeyRef: {name, key}}"
		known   = "known fields: id, provider, endpoint, endpointFrom, apiKey, settings, region, deploymentName, secretRefs"
		rest    = "; options of the provider go under settings, values from Secrets under secretRefs"
		example = "for example provider: vllm; docs/providers.md lists the providers of each API"
		idForm  = "an id consists of letters, digits, '.', '_' and '-', and begins and ends with a letter or digit: "
	)
	long := strings.Repeat("a", MaxProviderIDLength+1)
	for text, want := range map[string][]string{
		"[]":               {p + ": Invalid value: is an empty list: remove the field, or add a provider"},
		canary:             {p + ": Invalid value: must be a provider object or a list of provider objects: for example {provider: vllm}"},
		"[" + canary + "]": {p + "[0]: Invalid value: must be a provider object: for example {provider: vllm}"},
		"{}":               {p + ".provider: Required value: " + example},
		"{provider: ''}":   {p + ".provider: Required value: " + example},
		"[{provider: vllm, id: 1}, {provider: ollama, id: true}]": { // reported once each
			p + "[0].id: Invalid value: must be a string: put the value in quotes", p + "[1].id: Invalid value: must be a string: put the value in quotes"},
		"{provider: [" + canary + "]}":                     {p + ".provider: Invalid value: must be a string"},
		"[{provider: vllm}, {provider: ollama, id: b}]":    {p + "[0].id: Required value: each provider in a list needs an id: for example id: vllm-1"},
		"{provider: vllm, endpont: " + canary + "}":        {p + `.endpont: Invalid value: unknown field: did you mean "endpoint"?`},
		"{provider: vllm, apikey: {name: s, key: k}}":      {p + `.apikey: Invalid value: unknown field: did you mean "apiKey"?`}, // not a config field of the server
		"{provider: vllm, xylophone: {a: " + canary + "}}": {p + ".xylophone: Invalid value: unknown field: " + known + rest},
		"{provider: vllm, apiKey: " + canary + "}": {
			p + ".apiKey: Invalid value: must be " + ref + ": put the value into a Secret, and refer to it"},
		"{provider: vllm, apiKey: {name: a}}":                                {p + ".apiKey.key: Required value: set the key in the Secret"},
		"{provider: vllm, apiKey: {secretKeyRef: {key: a}}}":                 {p + ".apiKey.secretKeyRef.name: Required value: set the name of the Secret"},
		"{provider: vllm, apiKey: {secretKeyRef: " + canary + "}}":           {p + ".apiKey.secretKeyRef: Invalid value: must be an object with name and key"},
		"{provider: vllm, apiKey: {name: a, key: b, value: " + canary + "}}": {p + ".apiKey.value: Invalid value: unknown field: known fields: name, key"},
		"{provider: vllm, apiKey: {name: a, key: b, secretKeyRef: {name: a, key: b}}}": {
			p + ".apiKey: Invalid value: must be " + ref + ", not both: use one of the two forms"},
		"{provider: vllm, settings: " + canary + "}": {p + ".settings: Invalid value: must be an object"},
		"{provider: vllm, settings: {}, config: {}}": {p + ".config: Forbidden: is an alias of settings: keep one of them"},
		"{provider: vllm, secretRefs: {a: " + canary + "}}": {
			p + ".secretRefs[a]: Invalid value: must be " + ref + ": put the value into a Secret, and refer to it"},
		"{provider: vllm, secretRefs: {a: {name: s, key: k}}, a: {name: s, key: k}}": {
			p + ".a: Forbidden: is also in secretRefs: keep one of them"},
		"{provider: vllm, endpoint: {secretKeyRef: {name: a, key: b}}}": {p + ".endpoint: Invalid value: must be a string"},
		"{provider: vllm, id: all}":                                     {p + `.id: Invalid value: "all": has another meaning for the server: choose another id`},
		"{provider: vllm, id: __disabled__}": {
			p + `.id: Invalid value: "__disabled__": has another meaning for the server: choose another id`},
		"{provider: vllm, id: -x}":    {p + ".id: Invalid value: " + idForm + "choose another id"},
		"{provider: vllm, id: 'a b'}": {p + ".id: Invalid value: " + idForm + "choose another id"},
		"{provider: 'remote::'}": {
			p + ".id: Invalid value: " + idForm + "set id, because the default from provider is invalid"},
		"{provider: vllm, id: " + long + "}": {p + ".id: Invalid value: an id has at most 63 characters: choose another id"},
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
		"spec.providers.safety[0].id: Required value: each provider in a list needs an id: for example id: bedrock-1",
		`spec.providers.safety[1].id: Duplicate value: "bedrock": ids must be unique over all APIs, and this one is used by spec.providers.inference[0] and spec.providers.safety[1]: use unique ids`)
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
