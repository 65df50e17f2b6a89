// SPDX-License-Identifier: Apache-2.0

package serverconfig_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R76, R29 (expected are the resource's providers and the unconditional ones of the base).
func TestExpectedProvidersOfResourceAndBase(t *testing.T) {
	base, err := document.ParseBase("mine", []byte(`
version: 2
apis: [inference, safety, files]
providers:
  inference:
  - {provider_id: plain, provider_type: "remote::openai", config: {}}
  - {provider_id: "${env.GIVEN:+given}", provider_type: "remote::openai", config: {}}
  - {provider_id: "${env.ABSENT:+absent}", provider_type: "remote::openai", config: {}}
  - {provider_id: "${env.IMAGE:=default}", provider_type: "remote::openai", config: {}}
  - {provider_id: "${env.WHOLE}", provider_type: "remote::openai", config: {}}
  - {provider_id: __disabled__, provider_type: "remote::openai", config: {}}
  - {provider_id: null, provider_type: "remote::openai", config: {}}
  files:
  - {provider_id: local, provider_type: "inline::localfs", config: {}}
  safety:
  - {provider_id: guard, provider_type: "inline::llama-guard", config: {}}
storage: {backends: {}, stores: {}}
`))
	framework.NoError(t, err)
	line, ok := catalog.Get("0.7")
	if !ok {
		t.Fatal("no release line 0.7")
	}
	spec := &v1alpha2.LlamaStackDistributionSpec{
		Providers: &v1alpha2.ProvidersSpec{Inference: open(t, object{"id": "mine", "provider": "vllm", "endpoint": "http://vllm:8000"})},
		Disabled:  []string{"files"},
		Workload:  &v1alpha2.WorkloadSpec{Overrides: &v1alpha2.WorkloadOverrides{Env: []corev1.EnvVar{{Name: "GIVEN", Value: "x"}}}},
	}
	result, findings := serverconfig.Generate(t.Context(), serverconfig.Input{Name: "a", Namespace: "b", Spec: parse.Parse(spec), Base: base, Line: line})
	if findings.HasErrors() {
		t.Fatal(findings)
	}
	want := []document.ProviderName{{API: "inference", ID: "plain"}, {API: "inference", ID: "given"}, {API: "inference", ID: "mine"}, {API: "safety", ID: "guard"}}
	if diff := cmp.Diff(want, result.Expected); diff != "" {
		t.Errorf("expected (-want +got):\n%s\n%s", diff, result.YAML)
	}
}
