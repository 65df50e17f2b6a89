// SPDX-License-Identifier: Apache-2.0

package serverconfig

import (
	"slices"
	"testing"
)

// Proves: R107 (the models that a cache must have are those that the server itself loads by a name of Hugging Face).
func TestLocalModelsAreThoseThatTheServerLoads(t *testing.T) {
	base, err := ParseBase("", []byte(`version: 2
image_name: x
apis: [inference]
providers:
  inference:
  - {provider_id: local, provider_type: "inline::sentence-transformers"}
  - {provider_id: "${env.RERANK:+rerank}", provider_type: "inline::transformers"}
  - {provider_id: vllm, provider_type: "remote::vllm"}
registered_resources:
  models:
  - {model_id: example/b, provider_id: local, model_type: embedding}
  - {model_id: mine, provider_model_id: example/a, provider_id: "${env.RERANK:+rerank}"}
  - {model_id: example/b, provider_id: local}
  - {model_id: /models/file, provider_id: local}
  - {model_id: "${env.MODEL}", provider_id: local}
  - {model_id: example/remote, provider_id: vllm}
`))
	if err != nil {
		t.Fatal(err)
	}
	if got := localModels(base.Edit()); !slices.Equal(got, []string{"example/a", "example/b"}) {
		t.Errorf("%q", got)
	}
}
