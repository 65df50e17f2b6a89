// SPDX-License-Identifier: Apache-2.0

package config

import (
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
)

// Proves: R9 (effective ids), R13 (conditional and env-valued ids as the server treats them).
func TestIdentity(t *testing.T) {
	for raw, want := range map[string]identity{
		"vllm":                       {id: "vllm", presence: always},
		"${env.VLLM_URL:+vllm}":      {id: "vllm", presence: sometimes},
		"${env.ID:=vllm}":            {id: "vllm", presence: sometimes},
		"${env.ID}":                  {presence: unknown},
		"${env.ID:=}":                {presence: unknown},
		"${env.ID:=__disabled__}":    {presence: unknown},
		"${env.ID:+}":                {},
		"a-${env.ID}":                {presence: unknown},
		"${env.lower:+vllm}":         {id: "${env.lower:+vllm}", presence: always},
		"${env.A:+a}${env.B:+b}":     {presence: unknown},
		"__disabled__":               {},
		"":                           {},
		"${env.VLLM_URL:+vllm}-more": {presence: unknown},
	} {
		want.raw = raw
		if got := identityOf(stringNode(raw)); got != want {
			t.Errorf("identityOf(%q) = %+v, want %+v", raw, got, want)
		}
	}
	if got := identityOf(nil); got != (identity{}) {
		t.Errorf("identityOf(nil) = %+v", got)
	}
}

// Proves: FR-022, FR-032, R6, R34.
func TestEnvNames(t *testing.T) {
	for want, in := range map[string][2]string{
		"LLSD_VLLM_API_KEY":            {"vllm", "api_key"},
		"LLSD_VLLM_PRIMARY_API_KEY":    {"vllm-primary", "api_key"},
		"LLSD_A_B_C_AWS_ACCESS_KEY_ID": {"a.b_c", snakeCase("awsAccessKeyId")},
		"LLSD_X_CONNECTION_URL":        {"x", snakeCase("connectionURL")},
		"LLSD_X_API_VERSION":           {"x", snakeCase("APIVersion")},
		"LLSD_X_OAUTH2_TOKEN":          {"x", snakeCase("oauth2Token")},
		"LLSD_X_ALREADY_SNAKE":         {"x", snakeCase("already_snake")},
		"LLSD_X_A_B":                   {"x", snakeCase("a/b")},
	} {
		if got := envName(in[0], in[1]); got != want {
			t.Errorf("envName(%q, %q) = %s, want %s", in[0], in[1], got, want)
		}
	}
}

// Proves: FR-031, R11, R33.
func TestResolveEndpoint(t *testing.T) {
	row := &catalog.Endpoint{Field: "base_url", Kind: catalog.EndpointURL, DefaultPath: "/v1"}
	for in, want := range map[string]string{
		"http://vllm:8000":                  "http://vllm:8000/v1",
		"http://vllm:8000/":                 "http://vllm:8000/v1",
		"http://vllm:8000/v1":               "http://vllm:8000/v1",
		"http://vllm:8000/v1/":              "http://vllm:8000/v1/",
		"https://h/some/path?a=b":           "https://h/some/path?a=b",
		"https://h?a=b":                     "https://h/v1?a=b",
		"https://h/?a=b/c":                  "https://h/v1?a=b/c",
		"HTTPS://h":                         "HTTPS://h/v1",
		"http://[::1]:8000":                 "http://[::1]:8000/v1",
		"http://h/@v":                       "http://h/@v",
		"http://${env.H}:${env.P:=80}":      "http://${env.H}:${env.P:=80}/v1",
		"http://h/${env.P:=v2}":             "http://h/${env.P:=v2}",
		"${env.URL}":                        "${env.URL}",
		"http://h?t=${env.T:=a?b}":          "http://h/v1?t=${env.T:=a?b}",
		"http://${env.NAME:=user@host}:800": "http://${env.NAME:=user@host}:800/v1",
	} {
		var findings report
		if got := resolveEndpoint(in, "spec.x", row, &findings); got != want || len(findings.Findings) > 0 {
			t.Errorf("resolveEndpoint(%q) = %q, want %q; findings %v", in, got, want, findings)
		}
	}
	for _, in := range []string{
		"vllm:8000", "vllm", "ftp://h", "http://", "http:///v1", "http://u:p@h", "http://u@h", "http://a b", "http://h:port", "u:p@h:1",
		"http://h\n", "//h", "http://u:p@${env.H}", "http://:80", `http://h\@x`, "http://h:1:2", "unix:///run/x",
	} {
		var findings report
		resolveEndpoint(in, "spec.x", row, &findings)
		if len(findings.Errors()) != 1 || findings.Findings[0].Code != InvalidEndpoint {
			t.Errorf("resolveEndpoint(%q) finds %v", in, findings)
		}
	}
}
