// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// Proves: L-23, R20 (all Secrets and ConfigMaps that overrides bring into the pods, with their fields).
func TestPodReferences(t *testing.T) {
	cr := &v1alpha2.LlamaStackDistribution{}
	cr.Namespace = "ai"
	if got := PodReferences(cr); got != nil {
		t.Errorf("references of nothing: %v", got)
	}
	if err := yaml.UnmarshalStrict([]byte(`
workload:
  overrides:
    env:
    - {name: PLAIN, value: x}
    - {name: TWICE, valueFrom: {secretKeyRef: {name: shadowed, key: k}}}
    - {name: A, valueFrom: {secretKeyRef: {name: s1, key: k1}}}
    - {name: B, valueFrom: {configMapKeyRef: {name: c1, key: k2, optional: true}}}
    - {name: TWICE, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: NAMELESS, valueFrom: {secretKeyRef: {key: k}}}
    volumes:
    - {name: a, emptyDir: {}}
    - {name: b, secret: {secretName: s2}}
    - {name: c, secret: {secretName: s3, optional: true, items: [{key: k3, path: p}, {key: k4, path: q}]}}
    - {name: d, configMap: {name: c2, items: [{key: k5, path: p}]}}
    - name: e
      projected:
        sources:
        - serviceAccountToken: {path: t}
        - secret: {name: s4, items: [{key: k6, path: p}]}
        - configMap: {name: c3, optional: true}
`), &cr.Spec); err != nil {
		t.Fatal(err)
	}
	const field = "spec.workload.overrides."
	want := []Reference{
		{"Secret", "ai", "s1", []string{"k1"}, false, field + "env[2].valueFrom.secretKeyRef"},
		{"ConfigMap", "ai", "c1", []string{"k2"}, true, field + "env[3].valueFrom.configMapKeyRef"},
		{"Secret", "ai", "s2", nil, false, field + "volumes[1].secret"},
		{"Secret", "ai", "s3", []string{"k3", "k4"}, true, field + "volumes[2].secret"},
		{"ConfigMap", "ai", "c2", []string{"k5"}, false, field + "volumes[3].configMap"},
		{"Secret", "ai", "s4", []string{"k6"}, false, field + "volumes[4].projected.sources[1].secret"},
		{"ConfigMap", "ai", "c3", nil, true, field + "volumes[4].projected.sources[2].configMap"},
	}
	if diff := cmp.Diff(want, PodReferences(cr)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
