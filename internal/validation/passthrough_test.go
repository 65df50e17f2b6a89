// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/validation"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

func spec(t *testing.T, text string) *v1alpha2.LlamaStackDistributionSpec {
	t.Helper()
	s := &v1alpha2.LlamaStackDistributionSpec{}
	if err := yaml.UnmarshalStrict([]byte(text), s); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

// Proves: R61, FR-074, FR-075 (each message has the path, the problem and the fix).
func TestCheckReportsEachValue(t *testing.T) {
	refused := func(spec, problem string) framework.RejectedValue {
		return framework.RejectedValue{Spec: spec, Problem: problem}
	}
	for _, c := range append(slices.Concat(framework.RejectedValues(), framework.InvalidNames()),
		refused("workload: {overrides: {volumes: [{name: ''}]}}", "spec.workload.overrides.volumes[0].name: Required value"),
		refused("workload: {overrides: {volumes: [{name: data, emptyDir: {}}], volumeMounts: [{name: dta, mountPath: /a}]}}",
			`spec.workload.overrides.volumeMounts[0].name: Not found: "dta": there is no such volume: add one to spec.workload.overrides.volumes, or name one of data`),
		refused("workload: {overrides: {volumeMounts: [{name: '', mountPath: /a}]}}", "spec.workload.overrides.volumeMounts[0].name: Required value"),
		refused("workload: {overrides: {envFrom: [{secretRef: {name: ''}}]}}", "spec.workload.overrides.envFrom[0].secretRef.name: Required value"),
		refused("workload: {overrides: {envFrom: [{configMapRef: {name: ''}}]}}", "spec.workload.overrides.envFrom[0].configMapRef.name: Required value"),
		refused("networking: {tls: {caBundles: [{configMapName: a, keys: [ca.crt, '']}]}}", `spec.networking.tls.caBundles[0].keys[1]: Invalid value: "": is not a valid key of a ConfigMap`),
		refused("workload: {resourceClaims: [{name: a, resourceClaimName: c}], resources: {claims: [{name: b}]}}",
			`spec.workload.resources.claims[0].name: Not found: "b": the pod has no such ResourceClaim`),
	) {
		if strings.Contains(c.Spec, "storage: {size") || strings.Contains(c.Spec, "expose") || strings.Contains(c.Spec, "allowedFrom") {
			continue // package build checks the values that the operator derives
		}
		problems := validation.Check(spec(t, c.Spec), []string{"tmp"})
		found := false
		for _, p := range problems {
			found = found || strings.HasPrefix(p.String(), c.Problem)
			if p.Class != problem.Terminal || p.Severity != problem.Error || p.Path == "" {
				t.Errorf("%s: %+v", c.Spec, p)
			}
		}
		if !found {
			t.Errorf("%s: want %q in %s", c.Spec, c.Problem, problems.Message())
		}
	}
}

// Proves: R61.
func TestCheckAcceptsWhatKubernetesAccepts(t *testing.T) {
	for _, text := range []string{
		"{}",
		"overrideConfig: {configMapName: my.config-1}",
		"workload: {resources: {requests: {cpu: 500m, memory: 1Gi, ephemeral-storage: 1Gi}, limits: {cpu: 500m, nvidia.com/gpu: 2, hugepages-2Mi: 4Mi}}}",
		"workload: {resources: {requests: {hugepages-1Gi: 2Gi}, limits: {hugepages-1Gi: 2Gi, hugepages-2Mi: 0, example.com/requests.a: 1}}}",
		"workload: {resources: {requests: {cpu: 0, nvidia.com/gpu: 0}, limits: {memory: 0}, claims: [{name: a}]}, " +
			"resourceClaims: [{name: a, resourceClaimName: c}]}",
		"workload: {podMetadata: {labels: {a: ''}, annotations: {A.example/B: c}}}",
		"workload: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, " +
			"labelSelector: {matchLabels: {a: b}}, matchLabelKeys: [pod-template-hash]}]}",
		"workload: {scheduling: {affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: " +
			"[{topologyKey: zone, labelSelector: {matchLabels: {a: b}}, matchLabelKeys: [c], mismatchLabelKeys: [d]}]}}}}",
		"workload: {overrides: {env: [{name: A, value: x}, {name: A}, {name: a.b-c, value: x}]}}",
		"workload: {overrides: {env: [{name: A, valueFrom: {fileKeyRef: {volumeName: tmp, path: p, key: k}}}, " +
			"{name: B, valueFrom: {secretKeyRef: {name: s, key: k}}}, {name: C, valueFrom: {configMapKeyRef: {name: c, key: k}}}], " +
			"envFrom: [{configMapRef: {name: c}}, {prefix: a.b-, secretRef: {name: s}}]}}",
		"workload: {overrides: {volumes: [{name: a, secret: {secretName: s}}, {name: b, persistentVolumeClaim: {claimName: c}}, " +
			"{name: c, configMap: {name: c}}, {name: d, image: {reference: x}}, {name: e, nfs: {server: nfs, path: /a}}], " +
			"volumeMounts: [{name: a, mountPath: /a}, {name: tmp, mountPath: /b}, {name: b, mountPath: /c, readOnly: true}]}}",
	} {
		if problems := validation.Check(spec(t, text), []string{"tmp"}); len(problems) > 0 {
			t.Errorf("%s: %s", text, problems.Message())
		}
	}
}

// Proves: R61 (the message lists the volumes only if there are any).
func TestCheckListsExistingVolumes(t *testing.T) {
	const missing = `spec.workload.overrides.volumeMounts[0].name: Not found: "a": there is no such volume: add one to spec.workload.overrides.volumes`
	for volumes, want := range map[string]string{
		"[]": missing,
		"[{name: c, emptyDir: {}}, {name: b, emptyDir: {}}]": missing + ", or name one of b, c",
	} {
		got := validation.Check(spec(t, "workload: {overrides: {volumeMounts: [{name: a, mountPath: /a}], volumes: "+volumes+"}}"), []string{"tmp"})
		if len(got) != 1 || got[0].String() != want {
			t.Errorf("volumes %s: %v, want %s", volumes, got, want)
		}
	}
}

// Proves: NFR-001.
func TestCheckReportsInTheSameOrder(t *testing.T) {
	wrong := spec(t, "workload: {resources: {requests: {cpu: -1, memory: -1, a: 1, b: 1}}}")
	first := validation.Check(wrong, nil).Message()
	if !strings.Contains(first, "[cpu]") || !strings.Contains(first, "[memory]") {
		t.Fatal(first)
	}
	for range 100 {
		if again := validation.Check(wrong, nil).Message(); again != first {
			t.Fatalf("first %s\nthen %s", first, again)
		}
	}
}
