// SPDX-License-Identifier: Apache-2.0

package document_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// Proves: MIG-EX (the variables that configure providers are read from the base).
func TestProviderVariables(t *testing.T) {
	base, err := document.ParseBase("test", []byte(`
providers:
  inference:
  - provider_id: ${env.VLLM_URL:+vllm}
    provider_type: remote::vllm
    config: {base_url: "${env.VLLM_URL:=}", tls: ["${env.SHARED:=x}"]}
  - provider_id: ${env.ANY}
    config: {url: "${env.HIDDEN}"}
  vector_io:
  - {provider_id: faiss, config: {url: "a-${env.SHARED:=x}"}}
server: {port: "${env.PORT:=1}"}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"VLLM_URL": {"inference/vllm"}, "SHARED": {"inference/vllm", "vector_io/faiss"}}
	if diff := cmp.Diff(want, base.ProviderVariables()); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
}
