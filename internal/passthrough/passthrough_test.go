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
		refused("workload: {overrides: {volumeMounts: [{name: '', mountPath: /a}]}}", "spec.workload.overrides.volumeMounts[0].name: Required value"),
		refused("workload: {overrides: {env: [{name: A, valueFrom: {fileKeyRef: {volumeName: v, path: p, key: k}, fieldRef: {fieldPath: metadata.name}}}]}}",
			"spec.workload.overrides.env[0].valueFrom: Forbidden: has several sources"),
		refused("workload: {overrides: {env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}, configMapKeyRef: {name: c, key: k}}}]}}",
			"spec.workload.overrides.env[0].valueFrom: Forbidden: has several sources"),
		refused("workload: {overrides: {envFrom: [{}]}}", "spec.workload.overrides.envFrom[0]: Invalid value: \"\": needs exactly one of secretRef and configMapRef"),
		refused("workload: {overrides: {envFrom: [{secretRef: {name: s}, configMapRef: {name: c}}]}}",
			"spec.workload.overrides.envFrom[0]: Invalid value: \"\": needs exactly one of secretRef and configMapRef"),
		refused("workload: {overrides: {envFrom: [{secretRef: {name: ''}}]}}", "spec.workload.overrides.envFrom[0].secretRef.name: Required value"),
		refused("workload: {overrides: {envFrom: [{configMapRef: {name: ''}}]}}", "spec.workload.overrides.envFrom[0].configMapRef.name: Required value"),
		refused("workload: {overrides: {volumes: [{name: a, hostPath: {path: /a, type: Directory}, configMap: {name: c, defaultMode: -1}}]}}",
			"spec.workload.overrides.volumes[0].configMap.defaultMode: Invalid value: -1"),
		refused("workload: {overrides: {volumes: [{name: a, iscsi: {targetPortal: a, iqn: eui.0123456789abcdef, lun: -1}}]}}", "spec.workload.overrides.volumes[0].iscsi.lun: Invalid value: -1"),
		refused("workload: {overrides: {volumes: [{name: a, csi: {driver: "+strings.Repeat("d", 64)+"}}]}}",
			`spec.workload.overrides.volumes[0].csi.driver: Invalid value: "dd`),
		refused("workload: {terminationGracePeriodSeconds: -1}", "spec.workload.terminationGracePeriodSeconds: Invalid value: -1: must not be negative"),
		refused("workload: {resourceClaims: [{name: A b, resourceClaimName: c}]}", `spec.workload.resourceClaims[0].name: Invalid value: "A b"`),
		refused("workload: {resourceClaims: [{name: a}]}", `spec.workload.resourceClaims[0]: Invalid value: "a": needs exactly one of`),
		refused("workload: {resourceClaims: [{name: a, resourceClaimName: c, resourceClaimTemplateName: d}]}",
			`spec.workload.resourceClaims[0]: Invalid value: "a": needs exactly one of`),
		refused("workload: {resourceClaims: [{name: a, resourceClaimName: c}, {name: a, resourceClaimName: d}]}", `spec.workload.resourceClaims[1].name: Duplicate value: "a"`),
		refused("workload: {resourceClaims: [{name: a, resourceClaimName: c}], resources: {claims: [{name: b}]}}",
			`spec.workload.resources.claims[0].name: Not found: "b": the pod has no such ResourceClaim`),
		refused("workload: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, minDomains: 0}]}",
			"spec.workload.topologySpreadConstraints[0].minDomains: Invalid value: 0: must be at least 1"),
		refused("workload: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: z}]}",
			"spec.workload.topologySpreadConstraints[0].whenUnsatisfiable: Required value: write one of DoNotSchedule"),
		refused("workload: {scheduling: {affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: z, namespaceSelector: {matchLabels: {a b: c}}}]}}}}",
			"spec.workload.scheduling.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaceSelector: Invalid value"),
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
		// The smallest and the largest values.
		"workload: {terminationGracePeriodSeconds: 0, resources: {requests: {cpu: 0, nvidia.com/gpu: 0}, limits: {memory: 0}, claims: [{name: a}]}, " +
			"resourceClaims: [{name: a, resourceClaimName: c}, {name: b, resourceClaimTemplateName: d}], podMetadata: {labels: {a: ''}, annotations: {A.example/B: c}}}",
		"workload: {scheduling: {affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: {}}]}, " +
			"podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, namespaces: [a]}]}}}}",
		"workload: {overrides: {env: [{name: A, valueFrom: {fileKeyRef: {volumeName: tmp, path: p, key: k}}}, {name: B, valueFrom: {secretKeyRef: {name: s, key: k}}}, " +
			"{name: C, valueFrom: {configMapKeyRef: {name: c, key: k}}}], envFrom: [{configMapRef: {name: c}}]}}",
		"workload: {overrides: {volumes: [{name: a, emptyDir: {sizeLimit: 0}}, {name: b, csi: {driver: " + strings.Repeat("d", 63) + "}}, " +
			"{name: c, iscsi: {targetPortal: a, iqn: naa.0123456789abcdef0123456789abcdef, initiatorName: 'iqn.2001-04.com.example:me', lun: 0}}, {name: d, configMap: {name: c, defaultMode: 511}}, {name: e, secret: {secretName: s, defaultMode: 0}}, " +
			"{name: f, projected: {sources: [{serviceAccountToken: {path: t, expirationSeconds: 600}}]}}]}}",
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
		"workload: {resources: {requests: {hugepages-1Gi: 2Gi}, limits: {hugepages-1Gi: 2Gi, hugepages-2Mi: 0, example.com/requests.a: 1}}}",
		"workload: {overrides: {env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}}, " +
			"{name: B, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}]}}",
		"workload: {overrides: {volumes: [{name: a, image: {reference: x}}, {name: b, image: {reference: x, pullPolicy: Never}}, {name: c, gitRepo: {repository: x}}, " +
			"{name: d, flocker: {datasetUUID: x}}, {name: e, quobyte: {registry: 'a:1', volume: b}}, {name: f, storageos: {volumeName: x}}, " +
			"{name: g, portworxVolume: {volumeID: x}}, {name: h, fc: {wwids: [a]}}, {name: i, fc: {targetWWNs: [a], lun: 0}}, {name: j, glusterfs: {endpoints: a, path: b}}, " +
			"{name: k, cephfs: {monitors: [a]}}, {name: l, rbd: {monitors: [a], image: b}}, {name: m, azureFile: {secretName: a, shareName: b}}, " +
			"{name: n, azureDisk: {diskName: a, diskURI: 'https://b', cachingMode: None}}, {name: n2, azureDisk: {diskName: a, diskURI: /subscriptions/b, kind: Managed}}, {name: o, cinder: {volumeID: x}}, {name: p, vsphereVolume: {volumePath: x}}, " +
			"{name: q, photonPersistentDisk: {pdID: x}}, {name: r, scaleIO: {gateway: a, system: b, secretRef: {name: c}, volumeName: d}}, " +
			"{name: s, gcePersistentDisk: {pdName: x}}, {name: t, awsElasticBlockStore: {volumeID: x}}, {name: u, flexVolume: {driver: x}}, " +
			"{name: v, iscsi: {targetPortal: a, iqn: eui.0123456789abcdef, lun: 0, chapAuthDiscovery: true, secretRef: {name: s}}}, " +
			"{name: w, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce, ReadOnlyMany], volumeMode: Block, resources: {requests: {storage: 1Gi}}}}}}, " +
			"{name: x, projected: {sources: [{serviceAccountToken: {path: t, expirationSeconds: 4294967296}}, {secret: {name: s, items: [{key: k, path: u}]}}]}}]}}",
	} {
		if problems := passthrough.Check(spec(t, text), []string{"tmp"}); len(problems) > 0 {
			t.Errorf("%s: %s", text, problems.Message())
		}
	}
}

// Proves: R61 (a message offers names only where there are any).
func TestCheckOffersTheVolumesThatThereAre(t *testing.T) {
	const missing = `spec.workload.overrides.volumeMounts[0].name: Not found: "a": there is no such volume: add one to spec.workload.overrides.volumes`
	for volumes, want := range map[string]string{
		"[]": missing,
		"[{name: c, emptyDir: {}}, {name: b, emptyDir: {}}]": missing + ", or name one of b, c",
	} {
		got := passthrough.Check(spec(t, "workload: {overrides: {volumeMounts: [{name: a, mountPath: /a}], volumes: "+volumes+"}}"), []string{"tmp"})
		if len(got) != 1 || got[0].String() != want {
			t.Errorf("volumes %s: %v, want %s", volumes, got, want)
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
