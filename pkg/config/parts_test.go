// SPDX-License-Identifier: Apache-2.0

package config

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
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

// Proves: R36, R37 (a provider that the environment turns on is taken only where that is sure).
func TestCertain(t *testing.T) {
	given := []corev1.EnvVar{{Name: "GIVEN", Value: "x"}}
	g := &generation{Input: Input{Spec: &v1alpha2.LlamaStackDistributionSpec{
		Workload: &v1alpha2.WorkloadSpec{Overrides: &v1alpha2.WorkloadOverrides{Env: given}},
	}}}
	for raw, want := range map[string]bool{
		"plain": true, "${env.GIVEN:+id}": true, "${env.OTHER:+id}": false, "${env.OTHER:=id}": true, "${env.GIVEN:=id}": false,
		"${env.GIVEN}": false, "": false, disabledID: false, "a-${env.GIVEN}": false,
	} {
		if got := len(g.certain([]identity{identityOf(stringNode(raw))})) == 1; got != want {
			t.Errorf("%q is certain: %v, want %v", raw, got, want)
		}
	}
}
