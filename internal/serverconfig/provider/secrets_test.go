// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
)

// Proves: FR-022, FR-032, R6, R34.
func TestEnvNames(t *testing.T) {
	for want, in := range map[string][2]string{
		"LLSD_VLLM_API_KEY":            {"vllm", "api_key"},
		"LLSD_VLLM_PRIMARY_API_KEY":    {"vllm-primary", "api_key"},
		"LLSD_A_B_C_AWS_ACCESS_KEY_ID": {"a.b_c", SnakeCase("awsAccessKeyId")},
		"LLSD_X_CONNECTION_URL":        {"x", SnakeCase("connectionURL")},
		"LLSD_X_API_VERSION":           {"x", SnakeCase("APIVersion")},
		"LLSD_X_OAUTH2_TOKEN":          {"x", SnakeCase("oauth2Token")},
		"LLSD_X_ALREADY_SNAKE":         {"x", SnakeCase("already_snake")},
		"LLSD_X_A_B":                   {"x", SnakeCase("a/b")},
	} {
		if got := environment.Name(in[0], in[1]); got != want {
			t.Errorf("envName(%q, %q) = %s, want %s", in[0], in[1], got, want)
		}
	}
}
