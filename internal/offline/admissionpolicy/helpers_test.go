// SPDX-License-Identifier: Apache-2.0

package admissionpolicy_test

import (
	"testing"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/config/crd"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/admission"
)

const starter = "distribution: {name: starter}\n"

func schema(t testing.TB) *admission.Schema {
	t.Helper()
	s, err := admission.NewSchema(crd.LlamaStackDistributions(), "v1alpha2")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func resource(t *testing.T, spec string) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(spec))
	object := map[string]any{}
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(raw, &object)
	}
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{
		"apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
		"metadata": map[string]any{"name": "r", "namespace": "default"}, "spec": object,
	}
}
