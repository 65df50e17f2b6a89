// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// Proves: R20, L-02, L-23 (everything that the spec refers to is known, and so are the namespaces that only v1alpha1 can name).
func TestReferencesListsEveryKind(t *testing.T) {
	cr := &v1alpha2.LlamaStackDistribution{}
	if err := yaml.UnmarshalStrict([]byte(`
metadata:
  name: my-stack
  namespace: ai
spec:
  distribution: {name: starter}
  providers:
    inference: {provider: vllm, apiKey: {name: creds, key: token}}
  storage:
    sql: {type: postgres, connectionString: {name: db, key: dsn}}
  networking:
    tls: {caBundle: {configMapName: trusted-ca}}
  workload:
    overrides:
      env:
      - {name: A, valueFrom: {secretKeyRef: {name: more, key: a, optional: true}}}
      - {name: B, valueFrom: {configMapKeyRef: {name: settings, key: b}}}
`), cr); err != nil {
		t.Fatal(err)
	}
	want := []Reference{
		{Kind: "Secret", Namespace: "ai", Name: "db", Keys: []string{"dsn"}, Path: "spec.storage.sql.connectionString"},
		{Kind: "Secret", Namespace: "ai", Name: "creds", Keys: []string{"token"}, Path: "spec.providers.inference.apiKey"},
		{Kind: "ConfigMap", Namespace: "ai", Name: "trusted-ca", Path: "spec.networking.tls.caBundle"},
		{Kind: "Secret", Namespace: "ai", Name: "more", Keys: []string{"a"}, Optional: true, Path: "spec.workload.overrides.env[0].valueFrom.secretKeyRef"},
		{Kind: "ConfigMap", Namespace: "ai", Name: "settings", Keys: []string{"b"}, Path: "spec.workload.overrides.env[1].valueFrom.configMapKeyRef"},
	}
	if diff := cmp.Diff(want, References(cr)); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}

	cr.Spec = v1alpha2.LlamaStackDistributionSpec{OverrideConfig: &v1alpha2.OverrideConfigSpec{ConfigMapName: "mine"}}
	want = []Reference{
		{Kind: "ConfigMap", Namespace: "ai", Name: "mine", Keys: []string{"config.yaml"}, Path: "spec.overrideConfig"},
		{Kind: "ConfigMap", Namespace: "ai", Name: "odh-trusted-ca-bundle", Optional: true},
	}
	if diff := cmp.Diff(want, References(cr)); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
}
