// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/redact"
)

// Proves: NFR-003 (other text stays).
func TestTextHidesSecretLikeValues(t *testing.T) {
	for text, want := range map[string]string{
		"GET https://me:pw@db.example:5432/x failed":                             "GET https://<hidden>@db.example:5432/x failed",
		"postgresql://user@host/db":                                              "postgresql://<hidden>@host/db",
		"Authorization: Bearer abc.def-123456":                                   "Authorization: <hidden>",
		"sent bearer abcdefghijkl to x":                                          "sent bearer <hidden> to x",
		`{"api_key": "plain", "n": 1}`:                                           `{"api_key": "<hidden>", "n": 1}`,
		"password=hunter2 host=db":                                               "password=<hidden> host=db",
		"token: ${env.LLSD_VLLM_API_TOKEN:=}":                                    "token: ${env.LLSD_VLLM_API_TOKEN:=}",
		"key sk-canary-4711 is wrong":                                            "key <hidden> is wrong",
		"hf_abcdefghijklmnop":                                                    "<hidden>",
		"eyJhbGciOiJI.eyJzdWIiOiIx.c2ln":                                         "<hidden>",
		"max_tokens: 4096":                                                       "max_tokens: 4096",
		"spec.providers.inference.apiKey: Not found":                             "spec.providers.inference.apiKey: Not found",
		"-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nx": "<hidden>\nx",
		"http://vllm:8000/v1":                                                    "http://vllm:8000/v1",
	} {
		if got := redact.Text(text); got != want && got != want+" " {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// Proves: NFR-003 (references to Secrets stay).
func TestValueHidesSecretsInObjects(t *testing.T) {
	var given, want any
	for text, into := range map[string]*any{`
kind: Secret
data: {token: c2VjcmV0, plain: c2VjcmV0}
stringData: {other: plain}
`: &given, `
kind: Secret
data: {token: <hidden>, plain: <hidden>}
stringData: {other: <hidden>}
`: &want} {
		if err := yaml.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, redact.Value("", given)); diff != "" {
		t.Error(diff)
	}
	configMap := map[string]any{"kind": "ConfigMap", "data": map[string]any{"plain": "value"}}
	if diff := cmp.Diff(configMap, redact.Value("", configMap)); diff != "" {
		t.Errorf("a ConfigMap: %s", diff)
	}
	broken := map[string]any{"kind": "Secret", "data": "c2VjcmV0"}
	if diff := cmp.Diff(map[string]any{"kind": "Secret", "data": redact.Hidden}, redact.Value("", broken)); diff != "" {
		t.Errorf("data that is no map: %s", diff)
	}
	for text, into := range map[string]*any{`
metadata: {managedFields: [x], annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}", a: b}}
spec:
  env:
  - {name: VLLM_API_TOKEN, value: plain}
  - {name: VLLM_URL, value: "http://me:pw@vllm"}
  - {name: MAX_TOKENS, value: "4096"}
  - {name: KEY, valueFrom: {secretKeyRef: {name: creds, key: token}}}
  config: {api_key: plain, api_token: "${env.PGVECTOR_PASSWORD:=}", max_tokens: 3, secretName: my-cert, password: ""}
`: &given, `
metadata: {annotations: {a: b}}
spec:
  env:
  - {name: VLLM_API_TOKEN, value: <hidden>}
  - {name: VLLM_URL, value: "http://<hidden>@vllm"}
  - {name: MAX_TOKENS, value: "4096"}
  - {name: KEY, valueFrom: {secretKeyRef: {name: creds, key: token}}}
  config: {api_key: <hidden>, api_token: "${env.PGVECTOR_PASSWORD:=}", max_tokens: 3, secretName: my-cert, password: ""}
`: &want} {
		if err := yaml.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, redact.Value("", given)); diff != "" {
		t.Error(diff)
	}
}
