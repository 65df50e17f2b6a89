// SPDX-License-Identifier: Apache-2.0

package passthrough_test

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/passthrough"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

func spec(t *testing.T, text string) *v1alpha2.LlamaStackDistributionSpec {
	t.Helper()
	s := &v1alpha2.LlamaStackDistributionSpec{}
	if err := yaml.UnmarshalStrict([]byte(text), s); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

// Proves: R61, FR-074, FR-075 (each value is reported with its path, what is wrong with it, and how to fix it).
func TestCheckReportsEachValue(t *testing.T) {
	refused := func(spec, problem string) fixture.RefusedValue {
		return fixture.RefusedValue{Spec: spec, Problem: problem}
	}
	for _, c := range append(slices.Concat(fixture.RefusedValues(), fixture.WrongNames()),
		refused("workload: {resources: {claims: [{name: a}, {name: a}]}}", `spec.workload.resources.claims[1]: Duplicate value: "a"`),
		refused("workload: {overrides: {volumes: [{name: a}]}}", "spec.workload.overrides.volumes[0]: Required value: give the volume a source"),
		refused("workload: {overrides: {volumes: [{name: ''}]}}", "spec.workload.overrides.volumes[0].name: Required value"),
		refused("workload: {overrides: {volumes: [{name: data, emptyDir: {}}], volumeMounts: [{name: dta, mountPath: /a}]}}",
			`spec.workload.overrides.volumeMounts[0].name: Not found: "dta": there is no such volume: add one to spec.workload.overrides.volumes, or name one of data`),
	) {
		if strings.Contains(c.Spec, "storage: {size") || strings.Contains(c.Spec, "expose") || strings.Contains(c.Spec, "allowedFrom") {
			continue // what the operator itself makes of a value is checked in package desired
		}
		problems := passthrough.Check(spec(t, c.Spec), []string{"tmp"})
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

// Proves: R61 (what Kubernetes takes is taken).
func TestCheckTakesWhatKubernetesTakes(t *testing.T) {
	for _, text := range []string{
		"{}",
		"overrideConfig: {configMapName: my.config-1}",
		"workload: {podDisruptionBudget: {minAvailable: 0}}",
		"workload: {podDisruptionBudget: {maxUnavailable: 100%}}",
		"workload: {resources: {requests: {cpu: 500m, memory: 1Gi, ephemeral-storage: 1Gi}, limits: {cpu: 500m, nvidia.com/gpu: 2, hugepages-2Mi: 4Mi}}}",
		"workload: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: example.com/zone, whenUnsatisfiable: DoNotSchedule, minDomains: 1, nodeAffinityPolicy: Ignore, " +
			"labelSelector: {matchLabels: {a: b}}, matchLabelKeys: [pod-template-hash]}, {maxSkew: 1, topologyKey: example.com/zone, whenUnsatisfiable: ScheduleAnyway}]}",
		"workload: {scheduling: {tolerations: [{operator: Exists}, {key: a, value: b, effect: NoExecute, tolerationSeconds: -1}, {key: a, operator: Gt, value: '1'}], " +
			"affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{}, {matchExpressions: [{key: a, operator: Lt, values: ['3']}], " +
			"matchFields: [{key: metadata.name, operator: NotIn, values: [n]}]}]}}, podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: " +
			"[{topologyKey: kubernetes.io/hostname, namespaceSelector: {}, labelSelector: {matchLabels: {a: b}}, matchLabelKeys: [c], mismatchLabelKeys: [d]}]}}}}",
		"workload: {scheduling: {affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: " +
			"[{weight: 1, preference: {matchExpressions: [{key: a, operator: In, values: [b c]}]}}]}}}}",
		"workload: {overrides: {env: [{name: A, valueFrom: {}}, {name: A}, {name: a.b-c, value: x}]}}",
		"workload: {overrides: {volumes: [{name: a, secret: {secretName: s, defaultMode: 256, items: [{key: k, path: a/b, mode: 0}]}}, {name: b, persistentVolumeClaim: {claimName: c}}, " +
			"{name: c, projected: {sources: [{secret: {name: s}}, {configMap: {name: c}}, {serviceAccountToken: {path: t}}]}}], " +
			"volumeMounts: [{name: a, mountPath: /a, subPath: x..y/z}, {name: tmp, mountPath: /b, mountPropagation: HostToContainer}, " +
			"{name: b, mountPath: /c, readOnly: true, recursiveReadOnly: Enabled, mountPropagation: None}, {name: c, mountPath: /d, recursiveReadOnly: Disabled}]}}",
		"workload: {overrides: {volumes: [{name: a, hostPath: {path: a..b}}, {name: b, hostPath: {path: /a, type: ''}}, {name: c, hostPath: {path: /a, type: File}}, " +
			"{name: d, nfs: {server: nfs, path: /a}}, {name: e, csi: {driver: Disk.example.com}}, {name: f, projected: {sources: [{}]}}, " +
			"{name: g, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOncePod], resources: {requests: {storage: 1Gi}}}}}}, " +
			"{name: h, iscsi: {targetPortal: '192.0.2.1', iqn: 'iqn.2001-04.com.example:a', lun: 255}}, {name: i, downwardAPI: {items: [" +
			"{path: a, fieldRef: {fieldPath: metadata.labels}}, {path: b/c, fieldRef: {apiVersion: v1, fieldPath: \"metadata.annotations['A.example/B']\"}}, " +
			"{path: d, mode: 256, resourceFieldRef: {containerName: c, resource: requests.hugepages-2Mi}}]}}]}}",
		"workload: {overrides: {env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.host}}}, {name: B, valueFrom: {fieldRef: {fieldPath: status.podIPs}}}, " +
			"{name: C, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['example.com/a']\"}}}, {name: D, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}], " +
			"envFrom: [{prefix: a.b-, secretRef: {name: s}}]}}",
	} {
		if problems := passthrough.Check(spec(t, text), []string{"tmp"}); len(problems) > 0 {
			t.Errorf("%s: %s", text, problems.Message())
		}
	}
}

// Proves: NFR-001 (the same spec gives the same problems, in the same order).
func TestCheckReportsInTheSameOrder(t *testing.T) {
	wrong := spec(t, "workload: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, "+
		"nodeAffinityPolicy: Obey, nodeTaintsPolicy: Obey}]}")
	first := passthrough.Check(wrong, nil).Message()
	if !strings.Contains(first, "nodeAffinityPolicy") || !strings.Contains(first, "nodeTaintsPolicy") {
		t.Fatal(first)
	}
	for range 100 {
		if again := passthrough.Check(wrong, nil).Message(); again != first {
			t.Fatalf("first %s\nthen %s", first, again)
		}
	}
}
